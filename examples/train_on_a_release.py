"""What a model loses when it learns from anonymized people, and is asked about anonymized people.

python examples/train_on_a_release.py
"""

import numpy as np
from sklearn.compose import make_column_transformer
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import roc_auc_score
from sklearn.model_selection import train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

from shoal.datasets import census
from shoal.sklearn import Anonymizer

people = census(8_000, seed=1, table="INCOME").to_pandas()
is_well_paid = people["income"] > people["income"].median()
features = people[["age", "gender", "education", "marital"]]
train, test, y_train, y_test = train_test_split(features, is_well_paid, test_size=0.5, random_state=0)


def auc(step):
    """Train a model after this step, and return the area under the curve on the other half."""
    model = make_pipeline(step, StandardScaler(), LogisticRegression(max_iter=1000)).fit(train, y_train)
    return roc_auc_score(y_test, model.predict_proba(test)[:, 1]), model[0]


one_hot = make_column_transformer((OneHotEncoder(), ["gender", "marital"]), remainder="passthrough")
print("   k    AUC  different rows  held back")
print(f" raw  {auc(one_hot)[0]:.3f}")
for k in (5, 10, 25, 50):
    area, anonymizer = auc(Anonymizer(k=k))
    held_back = int(anonymizer.held_back(test).sum())
    print(f"{k:4}  {area:.3f}  {len(np.unique(anonymizer.transform(test), axis=0)):14}  {held_back:9}")
