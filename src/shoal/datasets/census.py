"""Synthetic census tables with the columns and domains of SAL and INCOME, of any length.

He et al. (2012), "Clustering-Based k-Anonymity", use two census extracts that cannot be redistributed.
These tables have the columns and the numbers of distinct values in table 3 of the paper, and the
properties that make a census hard to anonymize: most people agree in some columns, each column has a
long tail, and the columns depend on each other. They describe no real people.

Columns are drawn one after another, each conditional on the previous ones: age, gender, country, race,
schooling, occupation, work-class, marital state, income. The parameters are in `_census_tables`.

The paper treats country and race of SAL, and occupation and birthplace of INCOME, as numerical, because
they were coded as numbers. Here they are texts with trees, since they are categories.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Literal

import numpy as np
import polars as pl

from shoal.datasets import _census_tables as tables
from shoal.datasets._census_tables import TableName
from shoal.datasets.making import Floats, Ints, Tree, arx_lines, draw, draw_given, pick, write_text
from shoal.recipe import Recipe, to_toml

_REGIONS = {name: region for regions in tables.REGIONS.values() for name, region in regions.items()}
_COUNTRIES = {country: people for region in _REGIONS.values() for country, people in region.countries.items()}
_COUNTRY_NAMES = list(_COUNTRIES)
_HOME = _COUNTRY_NAMES.index(tables.HOME)
# People born at home differ from everybody else, so home is an origin separate from the regions.
_ORIGIN = np.array(
    [
        len(_REGIONS) if country == tables.HOME else at
        for at, region in enumerate(_REGIONS.values())
        for country in region.countries
    ]
)
_OCCUPATIONS = [entry for group in tables.OCCUPATIONS.values() for entry in group]
_OCCUPATION_NAMES = [entry.name for entry in _OCCUPATIONS]
_WORK_CLASSES = [name for sector in tables.WORK_CLASSES.values() for name in sector]
_LEVELS = {level: facts for stage in tables.SCHOOLING.values() for level, facts in stage.items()}
_MARITAL = list(tables.MARITAL["female"])
_RACES = [f"race {number}" for number in range(1, tables.N_RACES + 1)]
_AGES = np.arange(tables.YOUNGEST, tables.OLDEST + 1)
# In short tables few people share an income, and an occupation reveals the work class.
_ACCEPTED, _REASON = ("unique", "recoverable"), "nobody in this table exists"


def _share_out(total: int, weights: Sequence[float]) -> list[int]:
    """Split `total` into integers of at least 1, as close as possible to the proportions of `weights`."""
    exact = (total - len(weights)) * np.asarray(weights) / np.sum(weights)
    parts = exact.astype(np.int64)
    missing = total - len(weights) - int(parts.sum())
    parts[np.argsort(parts - exact, kind="stable")[:missing]] += 1
    return [1 + int(part) for part in parts]


def _numbered(names: Sequence[str], counts: Sequence[int]) -> dict[str, list[str]]:
    """Generate the given number of parts of each name: the name and a number."""
    return {
        name: [f"{name} {at:03d}" for at in range(1, count + 1)]
        for name, count in zip(names, counts, strict=True)
    }


# The number of places grows more slowly than the population of a country.
_PLACES = _numbered(
    _COUNTRY_NAMES, _share_out(tables.N_PLACES, [people**0.8 for people in _COUNTRIES.values()])
)
_JOBS = [entry for entry in _OCCUPATIONS if entry.worker != "none"]
_SPECIALITIES = _numbered(
    [entry.name for entry in _JOBS],
    _share_out(tables.N_SPECIALITIES, [entry.weight**0.8 for entry in _JOBS]),
)


def _leaves(names: Sequence[str]) -> Tree:
    """Return a leaf for each name."""
    return {name: {} for name in names}


def _sector_tree(without: str | None = None) -> Tree:
    """Return the tree of work-classes by sector, optionally without one of them."""
    sectors = {
        sector: _leaves([name for name in names if name != without])
        for sector, names in tables.WORK_CLASSES.items()
    }
    return {"all": sectors}


def _country_tree(parts: Mapping[str, Sequence[str]]) -> Tree:
    """Return the tree of countries by continent and region, with the parts of each country, if any."""
    return {
        "all": {
            continent: {
                name: {country: _leaves(parts.get(country, ())) for country in region.countries}
                for name, region in regions.items()
            }
            for continent, regions in tables.REGIONS.items()
        }
    }


_GENDER_TREE: Tree = {"all": _leaves(tables.GENDERS)}
_RACE_TREE: Tree = {"all": _leaves(_RACES)}
_MARITAL_TREE: Tree = {
    "all": {
        "never married": {},
        **{group: _leaves(names) for group, names in tables.MARITAL_GROUPS.items()},
    }
}
_EDUCATION_TREE: Tree = {
    "all": {
        group: {stage: _leaves([str(level) for level in tables.SCHOOLING[stage]]) for stage in stages}
        for group, stages in tables.SCHOOL_GROUPS.items()
    }
}

CENSUS_TREES: dict[TableName, dict[str, Tree]] = {
    "SAL": {
        "gender": _GENDER_TREE,
        "marital": _MARITAL_TREE,
        "race": _RACE_TREE,
        "work_class": _sector_tree(),
        "country": _country_tree({}),
        "occupation": {
            "all": {
                group: _leaves([entry.name for entry in entries])
                for group, entries in tables.OCCUPATIONS.items()
            }
        },
    },
    "INCOME": {
        "occupation": {
            "all": {
                group: {entry.name: _leaves(_SPECIALITIES[entry.name]) for entry in entries}
                for group, entries in tables.OCCUPATIONS.items()
                if all(entry.worker != "none" for entry in entries)
            }
        },
        "birthplace": _country_tree(_PLACES),
        "gender": _GENDER_TREE,
        "education": _EDUCATION_TREE,
        "race": _RACE_TREE,
        "work_class": _sector_tree(without=tables.NEVER_WORKED),
        "marital": _MARITAL_TREE,
    },
}


def census(rows: int = 10_000, seed: int = 0, *, table: TableName = "SAL") -> pl.DataFrame:
    """Generate a census table, one row for each person, without missing values.

    The paper's SAL has 500,000 rows and its INCOME 600,000; tables of that size or larger contain every
    value of every domain. Time and memory are proportional to `rows`.

    Parameters
    ----------
    rows : int, default 10_000
        Number of people, at least 1.
    seed : int, default 0
        The same seed, number of rows, table and version give the same table. Not negative.
    table : {"SAL", "INCOME"}
        Which table to generate.

    Returns
    -------
    people : polars.DataFrame
        The columns of table 3, with their numbers of possible values.

        SAL: `age` (78, from 17 to 94), `gender` (2), `education` (17, numbers from 1 to 17), `marital`
        (6), `race` (9), `work_class` (10), `country` (83) and `occupation` (50).

        INCOME: `age` (78), `occupation` (711), `birthplace` (983), `gender` (2), `education` (17),
        `race` (9), `work_class` (9), `marital` (6) and `income` (whole numbers from 1,000 to 10,000).

        The trees of the texts, and of `education` in INCOME, are in `CENSUS_TREES`.

    Raises
    ------
    ValueError
        If `rows` is below 1, `seed` is negative, or there is no such table.

    Notes
    -----
    A shorter table is not a prefix of a longer one with the same seed.

    Examples
    --------
    >>> people = census(rows=1000, seed=7)
    >>> people.shape, people.columns[-1]
    ((1000, 8), 'occupation')
    """
    columns = _columns(table)
    if rows < 1:
        raise ValueError(f"rows must be at least 1, but is {rows}")
    rng = np.random.Generator(np.random.PCG64(seed))
    age = draw(_by_age(tables.PEOPLE), rows, rng)
    gender = draw_given(_gender_weights(), age, rng)
    country = draw_given(_country_weights(), age, rng)
    origin = _ORIGIN[country]
    level = draw_given(_level_weights(), origin * len(_AGES) + age, rng)
    person = (gender * len(_LEVELS) + level) * len(_AGES) + age
    occupation = draw_given(_occupation_weights(table), person, rng)
    work_class = draw_given(_work_class_weights(), occupation * len(_AGES) + age, rng)
    drawn = {
        "age": pl.Series(_AGES[age]),
        "gender": pick(tables.GENDERS, gender),
        "education": pl.Series(np.array(list(_LEVELS))[level]),
        "marital": pick(_MARITAL, draw_given(_marital_weights(), gender * len(_AGES) + age, rng)),
        "race": pick(_RACES, draw_given(_race_weights(), origin, rng)),
        "work_class": pick(_WORK_CLASSES, work_class),
    }
    if table == "SAL":
        drawn["country"] = pick(_COUNTRY_NAMES, country)
        drawn["occupation"] = pick(_OCCUPATION_NAMES, occupation)
    else:
        drawn["birthplace"] = _draw_parts(_PLACES, country, rng)
        drawn["occupation"] = _draw_parts(_SPECIALITIES, occupation, rng)
        drawn["income"] = _draw_incomes(occupation, level, age, rng)
    return pl.DataFrame({name: drawn[name] for name in columns})


def census_recipe(table: TableName = "SAL", *, quasi: int = 7, k: int = 10, method: str = "auto") -> Recipe:
    """Return the recipe for a census table in memory, including the trees.

    Parameters
    ----------
    table : {"SAL", "INCOME"}
        For which table.
    quasi : int, default 7
        Number of leading columns that are quasi: 7 for SAL-7 or INC-7 of the paper. At most 7 for SAL
        and 8 for INCOME. The last column is sensitive, and the others are dropped.
    k : int, default 10
        Smallest class size.
    method : str, default "auto"
        How the classes are found.

    Returns
    -------
    recipe : shoal.Recipe
        Age is numeric, and so is `education` in SAL; all other columns, including `education` in INCOME,
        are categorical with a tree, as in the paper except for the columns listed in the module docstring.

    Raises
    ------
    ValueError
        If the table has too few columns, or there is no such table.
    RecipeError
        If `k` or `method` is not valid.

    Examples
    --------
    >>> recipe = census_recipe("SAL", quasi=3, k=50)
    >>> recipe.quasi, recipe.named("sensitive")
    (['age', 'gender', 'education'], ['occupation'])
    """
    return Recipe.from_dict(_sections(table, quasi, k, method, _trees(table)))


def write_census(
    folder: Path,
    rows: int = 10_000,
    seed: int = 0,
    *,
    table: TableName = "SAL",
    quasi: int = 7,
    k: int = 10,
    method: str = "auto",
    ending: Literal["csv", "parquet"] = "csv",
) -> Path:
    """Write a census table, its trees and a recipe for them into a folder.

    Parameters
    ----------
    folder : pathlib.Path
        Created if it does not exist. Receives `sal.csv` (or `sal.parquet`), `sal_<column>.csv` for each
        tree, and `sal.toml`; for INCOME, `income` replaces `sal`. Existing files are overwritten.
    rows, seed : int
        As in `census`.
    table, quasi, k, method
        As in `census_recipe`.
    ending : {"csv", "parquet"}
        Format of the table, and of the release in the recipe.

    Returns
    -------
    recipe : pathlib.Path
        The recipe, `sal.toml` or `income.toml`.
    """
    if ending not in ("csv", "parquet"):
        raise ValueError(f"ending must be csv or parquet, but is {ending}")
    stem = table.lower()
    files = {column: f"{stem}_{column}.csv" for column in _trees(table)}
    sections = {
        "input": {"path": f"{stem}.{ending}"},
        **_sections(table, quasi, k, method, files),
        "output": {"path": f"{stem}-k{k}.{ending}"},
    }
    Recipe.from_dict(sections)  # validates it before anything is drawn or written
    people = census(rows, seed, table=table)
    folder.mkdir(parents=True, exist_ok=True)
    if ending == "csv":
        people.write_csv(folder / f"{stem}.csv")
    else:
        people.write_parquet(folder / f"{stem}.parquet")
    for column, file in files.items():
        write_text(folder / file, arx_lines(_trees(table)[column]))
    recipe = folder / f"{stem}.toml"
    write_text(recipe, f"# A made-up census: nobody in this table exists.\n\n{to_toml(sections)}")
    return recipe


def _columns(table: TableName) -> tuple[str, ...]:
    """Return the columns of a table."""
    if table not in tables.COLUMNS:
        raise ValueError(f"table must be one of {', '.join(tables.COLUMNS)}, but is {table}")
    return tables.COLUMNS[table]


def _trees(table: TableName) -> dict[str, Tree]:
    """Return the trees of a table, by column."""
    _columns(table)
    return CENSUS_TREES[table]


def _sections(
    table: TableName, quasi: int, k: int, method: str, hierarchies: Mapping[str, str | Tree]
) -> dict[str, Any]:
    """Return the sections of a recipe, except input and output."""
    *others, sensitive = _columns(table)
    if not 1 <= quasi <= len(others):
        raise ValueError(f"quasi must be from 1 to {len(others)} for {table}, but is {quasi}")
    columns: dict[str, dict[str, Any]] = {}
    for name in others[:quasi]:
        columns[name] = {"role": "quasi", "kind": "numeric"}
        if name in hierarchies:
            columns[name] |= {"kind": "categorical", "hierarchy": hierarchies[name]}
    columns |= {name: {"role": "drop"} for name in others[quasi:]}
    columns[sensitive] = {"role": "sensitive", "accept": dict.fromkeys(_ACCEPTED, _REASON)}
    return {"columns": columns, "privacy": {"k": k}, "method": {"name": method, "seed": 0}}


def _by_age(weights: Sequence[float]) -> Floats:
    """Interpolate weights linearly between ages."""
    return np.interp(_AGES, tables.AGES, weights)


def _gender_weights() -> Floats:
    """Return the weights of women and men, one line per age."""
    women = _by_age(tables.WOMEN)
    return np.column_stack([women, 1 - women])


def _country_weights() -> Floats:
    """Return the weights of the countries of birth, one line per age."""
    weights = np.tile(list(_COUNTRIES.values()), (len(_AGES), 1))
    weights[:, _HOME] *= _by_age(tables.AT_HOME)
    return weights


def _race_weights() -> Floats:
    """Return the weights of the races, one line per origin."""
    return np.array([region.races for region in _REGIONS.values()] + [tables.HOME_RACES], dtype=np.float64)


def _level_weights() -> Floats:
    """Return the weights of the levels of schooling, one line per origin and age."""
    common, youngest = np.array(list(_LEVELS.values())).T
    beyond = np.array(list(_LEVELS)) - tables.ORDINARY_LEVEL
    # Older generations have less schooling.
    generation = -0.007 * np.maximum(_AGES - 45, 0)
    origin = np.array([region.lean for region in _REGIONS.values()] + [0.0])
    lean = (origin[:, None] + generation)[:, :, None]
    weights: Floats = common * np.exp(lean * beyond) * (_AGES[:, None] >= youngest)
    return weights.reshape(-1, len(_LEVELS))


def _occupation_weights(table: TableName) -> Floats:
    """Return the weights of the occupations, one line per gender, level and age."""
    lines = []
    levels = np.array(list(_LEVELS))[:, None]
    for entry in _OCCUPATIONS:
        # Not a Gaussian: its thin tails would leave people with little schooling a single occupation.
        fit = np.exp(-np.abs(levels - entry.level) / 1.2)
        # Young people's jobs are left early; other jobs are kept, or reported by the retired.
        spread = 10 if entry.peak < 30 else 24
        at_age = 0.1 + np.exp(-0.5 * ((_AGES - entry.peak) / spread) ** 2)
        weight = 0.0 if table == "INCOME" and entry.worker == "none" else entry.weight
        alike = weight * fit * at_age
        lines.append(np.concatenate([(entry.women * alike).ravel(), ((1 - entry.women) * alike).ravel()]))
    return np.array(lines).T


def _work_class_weights() -> Floats:
    """Return the weights of the work-classes, one line per occupation and age."""
    weights = np.array([tables.WORKERS[entry.worker] for entry in _OCCUPATIONS])
    own = np.isin(_WORK_CLASSES, tables.WORK_CLASSES["self-employed"])
    # Self-employment grows with experience.
    grown = np.interp(_AGES, [tables.YOUNGEST, 50], [0.2, 1.3])[:, None]
    lines: Floats = weights[:, None, :] * np.where(own, grown, 1.0)
    return lines.reshape(-1, len(_WORK_CLASSES))


def _marital_weights() -> Floats:
    """Return the weights of the marital states, one line per gender and age."""
    return np.concatenate(
        [
            np.column_stack([_by_age(weights) for weights in tables.MARITAL[gender].values()])
            for gender in tables.GENDERS
        ]
    )


def _draw_parts(parts: Mapping[str, Sequence[str]], given: Ints, rng: np.random.Generator) -> pl.Series:
    """Draw for each row a part of the entry at index `given`; the first parts are the largest."""
    counts = np.array([len(part) for part in parts.values()])
    at = np.arange(counts.max())
    # Parts that do not exist have weight zero.
    weights = np.where(at < counts[:, None], 1 / (at + 2.0), 0.0)
    firsts = np.cumsum(counts) - counts
    texts = [text for part in parts.values() for text in part]
    return pick(texts, firsts[given] + draw_given(weights, given, rng))


def _draw_incomes(occupation: Ints, level: Ints, age: Ints, rng: np.random.Generator) -> pl.Series:
    """Draw incomes: log-normal, increasing with schooling and age, and clipped at both ends."""
    pay = np.log([entry.pay for entry in _OCCUPATIONS])
    schooling = 0.04 * (np.array(list(_LEVELS)) - tables.ORDINARY_LEVEL)
    # Pay stops rising at 55.
    experience = 0.016 * (np.clip(_AGES, 25, 55) - 40)
    incomes = 2_700 * np.exp(
        pay[occupation] + schooling[level] + experience[age] + 0.4 * rng.standard_normal(len(age))
    )
    return pl.Series(np.clip(np.rint(incomes), tables.LEAST_INCOME, tables.MOST_INCOME).astype(np.int64))
