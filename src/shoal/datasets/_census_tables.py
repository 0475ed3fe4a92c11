"""The parameters of the synthetic census: people, origins, schooling, work, families.

Every number is a rough guess, chosen so that the generated table is as skewed as a census; none is a
published statistic. Races are only numbered, because nothing here is meant to describe real people.
"""

from __future__ import annotations

from typing import Literal, NamedTuple, TypeAlias

TableName: TypeAlias = Literal["SAL", "INCOME"]
Worker: TypeAlias = Literal["company", "care", "school", "public", "own", "land", "forces", "none"]

# The columns in the order of table 3 of He et al. (2012), the sensitive one last.
COLUMNS: dict[TableName, tuple[str, ...]] = {
    "SAL": ("age", "gender", "education", "marital", "race", "work_class", "country", "occupation"),
    "INCOME": (
        "age", "occupation", "birthplace", "gender", "education", "race", "work_class", "marital", "income",
    ),
}  # fmt: skip

YOUNGEST, OLDEST = 17, 94
GENDERS = ("female", "male")

# Weights at some ages, interpolated linearly.
AGES = (YOUNGEST, 25, 37, 45, 55, 65, 75, 84, 90, OLDEST)
PEOPLE = (14, 17, 21, 19, 13, 10, 8, 3.5, 1, 0.3)
WOMEN = (0.49, 0.49, 0.50, 0.50, 0.51, 0.53, 0.56, 0.63, 0.69, 0.73)  # share of women
# People migrate at working age, so that fewer of those aged 30 to 50 were born at home.
AT_HOME = (1, 0.85, 0.7, 0.75, 0.9, 1.1, 1.1, 1, 1, 1)  # relative weight of being born at home

# Marital state by gender: weights at the same ages.
MARITAL: dict[str, dict[str, tuple[float, ...]]] = {
    "female": {
        "never married": (96, 52, 18, 11, 6, 5, 4, 4, 4, 4),
        "married": (2.4, 39, 62, 64, 66, 59, 42, 22, 12, 7),
        "married apart": (0.6, 2.2, 2, 1.8, 1.6, 1.4, 1.3, 1.2, 1, 1),
        "separated": (0.4, 2.5, 4, 3.4, 2.4, 1.4, 0.8, 0.5, 0.3, 0.3),
        "divorced": (0.3, 5, 14, 18, 17, 11, 6, 4, 3, 2),
        "widowed": (0.05, 0.2, 0.8, 2, 7, 22, 46, 68, 80, 86),
    },
    "male": {
        "never married": (98, 66, 25, 14, 7, 5, 4, 4, 4, 4),
        "married": (1.2, 28, 59, 66, 74, 77, 76, 68, 58, 50),
        "married apart": (0.5, 2.4, 2, 1.8, 1.6, 1.4, 1.2, 1.2, 1, 1),
        "separated": (0.1, 1.2, 2.4, 2.4, 1.8, 1.4, 1, 0.6, 0.4, 0.3),
        "divorced": (0.1, 2.6, 11, 15, 14, 9, 5, 3, 2, 2),
        "widowed": (0.02, 0.1, 0.3, 0.7, 2, 6, 13, 24, 35, 43),
    },
}
MARITAL_GROUPS = {
    "married now": ("married", "married apart"),
    "no longer married": ("separated", "divorced", "widowed"),
}  # those who never married are a separate group

# Highest level of schooling, 1 to 17: stage -> level -> (weight, minimum age).
SCHOOLING: dict[str, dict[int, tuple[float, int]]] = {
    "primary": {1: (7, 17), 2: (5, 17), 3: (9, 17), 4: (12, 17)},
    "lower secondary": {5: (18, 17), 6: (26, 17), 7: (34, 17)},
    "upper secondary": {8: (40, 17), 9: (280, 18), 10: (95, 19)},
    "vocational": {11: (120, 19), 12: (60, 20)},
    "first degree": {13: (75, 20), 14: (165, 21)},
    "higher degree": {15: (70, 23), 16: (16, 24), 17: (9, 26)},
}
SCHOOL_GROUPS = {
    "school": ("primary", "lower secondary", "upper secondary"),
    "beyond school": ("vocational", "first degree", "higher degree"),
}
ORDINARY_LEVEL = 9  # the most common level; generations and origins are above or below it

N_RACES = 9
N_PLACES = 983  # places of birth, divided among the countries
HOME = "United States"
HOME_RACES = (770, 125, 6, 14, 5, 8, 2, 45, 25)


class Region(NamedTuple):
    """Countries with similar distributions of race and schooling."""

    races: tuple[float, ...]  # weights of the nine races
    lean: float  # above 0, people have more schooling; below 0, less
    countries: dict[str, float]  # per thousand people of the census, those born there


# continent -> region
REGIONS: dict[str, dict[str, Region]] = {
    "America": {
        "Northern America": Region(
            (82, 5, 3, 3, 3, 1, 0.2, 2, 1), 0.06,
            {HOME: 840, "Canada": 3.2},
        ),
        "Central America": Region(
            (42, 2, 5, 0.3, 0.2, 0.2, 0.1, 47, 4), -0.24,
            {"Mexico": 40, "El Salvador": 4.5, "Guatemala": 3, "Honduras": 2, "Nicaragua": 1.1,
             "Panama": 0.7, "Costa Rica": 0.5, "Belize": 0.2},
        ),
        "Caribbean": Region(
            (33, 48, 0.5, 0.4, 1, 0.2, 0.1, 13, 5), -0.06,
            {"Cuba": 4.2, "Dominican Republic": 3.6, "Jamaica": 2.8, "Haiti": 2.5,
             "Trinidad and Tobago": 1, "Barbados": 0.2},
        ),
        "South America": Region(
            (55, 6, 3, 1, 3, 0.2, 0.1, 28, 4), 0.02,
            {"Colombia": 2.6, "Ecuador": 1.8, "Peru": 1.7, "Brazil": 1.5, "Guyana": 1.1,
             "Argentina": 0.8, "Venezuela": 0.7, "Chile": 0.5},
        ),
    },
    "Europe": {
        "Northern Europe": Region(
            (95, 1.5, 0.1, 0.5, 1.5, 0.2, 0.1, 0.6, 0.7), 0.08,
            {"United Kingdom": 3.1, "Ireland": 0.9, "Sweden": 0.3, "Norway": 0.22, "Denmark": 0.18},
        ),
        "Western Europe": Region(
            (93, 3, 0.2, 0.6, 0.6, 0.3, 0.1, 1.4, 1), 0.05,
            {"Germany": 4, "France": 1.1, "Netherlands": 0.6, "Austria": 0.4, "Switzerland": 0.3},
        ),
        "Southern Europe": Region(
            (96, 0.6, 0.1, 0.2, 0.2, 0.2, 0.1, 2, 0.7), -0.14,
            {"Italy": 2.4, "Portugal": 1.3, "Greece": 1, "Spain": 0.6, "Croatia": 0.3, "Albania": 0.18},
        ),
        "Eastern Europe": Region(
            (98, 0.2, 0.1, 0.2, 0.2, 0.1, 0.1, 0.4, 0.7), 0.06,
            {"Poland": 2.8, "Russia": 2.1, "Ukraine": 1.6, "Romania": 0.8, "Hungary": 0.5, "Czechia": 0.4,
             "Bulgaria": 0.25},
        ),
    },
    "Asia": {
        "Eastern Asia": Region(
            (4, 0.5, 0.1, 93, 0.2, 0.7, 0.2, 0.3, 1), 0.1,
            {"China": 9, "South Korea": 5.2, "Japan": 2.3},
        ),
        "South-eastern Asia": Region(
            (3, 0.4, 0.1, 12, 0.8, 80, 1.5, 0.7, 1.5), 0.03,
            {"Philippines": 8.6, "Vietnam": 6.3, "Laos": 1.3, "Thailand": 1.1, "Cambodia": 0.9,
             "Indonesia": 0.5, "Malaysia": 0.35, "Myanmar": 0.25},
        ),
        "Southern Asia": Region(
            (9, 0.4, 0.1, 0.6, 85, 0.7, 0.1, 2, 2), 0.17,
            {"India": 7.2, "Iran": 1.9, "Pakistan": 1.7, "Bangladesh": 0.7, "Afghanistan": 0.3,
             "Sri Lanka": 0.2},
        ),
        "Western Asia": Region(
            (80, 1, 0.1, 0.2, 2, 0.2, 0.1, 1.4, 15), 0.07,
            {"Israel": 0.8, "Lebanon": 0.7, "Iraq": 0.7, "Turkey": 0.6, "Armenia": 0.5, "Syria": 0.4},
        ),
    },
    "Africa": {
        "Northern Africa": Region(
            (76, 9, 0.1, 0.1, 0.7, 0.1, 0.1, 0.9, 13), 0.09,
            {"Egypt": 0.9, "Morocco": 0.4},
        ),
        "Western Africa": Region(
            (3, 93, 0.1, 0.1, 0.4, 0.1, 0.1, 0.7, 2.5), 0.08,
            {"Nigeria": 1.1, "Ghana": 0.5, "Liberia": 0.3, "Senegal": 0.13},
        ),
        "Eastern Africa": Region(
            (7, 84, 0.1, 0.1, 5, 0.2, 0.1, 0.5, 3), 0.05,
            {"Ethiopia": 0.6, "Kenya": 0.4, "Somalia": 0.2},
        ),
    },
    "Oceania": {
        "Australasia": Region(
            (93, 0.6, 0.4, 1.5, 1, 0.6, 1.6, 0.5, 0.8), 0.09,
            {"Australia": 0.5, "New Zealand": 0.2},
        ),
        "Pacific Islands": Region(
            (4, 0.6, 0.3, 1, 22, 1.6, 67, 0.5, 3), -0.05,
            {"Fiji": 0.3, "Tonga": 0.15},
        ),
    },
}  # fmt: skip

# sector -> work-classes; INCOME has no people who never worked
WORK_CLASSES = {
    "private": ("private company", "private non-profit"),
    "self-employed": ("own company", "own account"),
    "public": ("federal government", "state government", "local government", "armed forces"),
    "unpaid": ("family work", "never worked"),
}
NEVER_WORKED = "never worked"

# Weights of the work-classes, in the order above, by type of work.
WORKERS: dict[Worker, tuple[float, ...]] = {
    "company": (84, 3, 3, 5, 1.2, 1.2, 2, 0, 0.25, 0),
    "care": (60, 20, 2, 4, 3, 4, 7, 0, 0.1, 0),
    "school": (13, 12, 0.4, 1, 1, 15, 58, 0, 0.1, 0),
    "public": (18, 2, 1, 1, 22, 18, 38, 0, 0.02, 0),
    "own": (52, 2, 14, 29, 0.6, 0.6, 1.2, 0, 0.6, 0),
    "land": (38, 0.5, 9, 46, 0.4, 0.6, 0.8, 0, 4.7, 0),
    "forces": (0, 0, 0, 0, 0, 0, 0, 1, 0, 0),
    "none": (0, 0, 0, 0, 0, 0, 0, 0, 6, 94),
}


class Occupation(NamedTuple):
    """The distribution of people in an occupation, and its pay."""

    name: str
    weight: float
    women: float  # share of women at equal population, from 0 to 1
    level: float  # the most common level of schooling
    pay: float  # median for an ordinary person, 1 for an ordinary job
    worker: Worker = "company"
    peak: float = 44  # most common age


N_SPECIALITIES = 711  # occupations of INCOME, divided among the paid ones below

# group -> occupations
OCCUPATIONS: dict[str, tuple[Occupation, ...]] = {
    "management": (
        Occupation("general manager", 32, 0.33, 13.4, 1.9, "own", 51),
        Occupation("sales manager", 24, 0.38, 12.8, 1.6),
        Occupation("restaurant manager", 14, 0.45, 10.9, 1.1, "own", 40),
        Occupation("project manager", 20, 0.4, 14, 1.6),
    ),
    "technology and science": (
        Occupation("software developer", 26, 0.22, 14.3, 1.8, peak=36),
        Occupation("civil engineer", 12, 0.13, 14.4, 1.6),
        Occupation("laboratory technician", 9, 0.5, 12.8, 1.05, "care", 38),
        Occupation("research scientist", 7, 0.42, 16.6, 1.7, "school"),
    ),
    "health and care": (
        Occupation("physician", 12, 0.38, 16.2, 2.6, "care", 48),
        Occupation("pharmacist", 4, 0.52, 15.3, 1.9),
        Occupation("nurse", 30, 0.91, 13.3, 1.35, "care"),
        Occupation("dental assistant", 5, 0.95, 11.3, 0.85, peak=34),
        Occupation("care assistant", 27, 0.87, 9.3, 0.65, "care", 40),
    ),
    "teaching": (
        Occupation("school teacher", 52, 0.73, 14.6, 1.1, "school", 46),
        Occupation("university teacher", 12, 0.44, 16.4, 1.5, "school", 52),
        Occupation("childcare worker", 15, 0.94, 10.4, 0.55, "own", 34),
        Occupation("librarian", 3, 0.8, 14.8, 1.05, "school", 52),
    ),
    "law and safety": (
        Occupation("lawyer", 12, 0.32, 16, 2.3, "own", 47),
        Occupation("police officer", 10, 0.16, 12.2, 1.25, "public", 40),
        Occupation("firefighter", 4, 0.05, 11.8, 1.2, "public", 38),
        Occupation("security guard", 9, 0.24, 9.7, 0.75),
        Occupation("soldier", 7, 0.14, 11, 1, "forces", 26),
    ),
    "office": (
        Occupation("office clerk", 52, 0.77, 10.7, 0.85, "public"),
        Occupation("secretary", 38, 0.96, 10.8, 0.85, "care", 50),
        Occupation("accountant", 22, 0.6, 13.6, 1.3),
        Occupation("bank clerk", 8, 0.85, 11, 0.8, peak=34),
        Occupation("postal worker", 7, 0.4, 10.4, 1.05, "public", 48),
    ),
    "sales": (
        Occupation("shop assistant", 46, 0.6, 9.9, 0.6, peak=36),
        Occupation("cashier", 28, 0.76, 8.9, 0.45, peak=22),
        Occupation("sales representative", 19, 0.29, 12.2, 1.4),
        Occupation("estate agent", 9, 0.52, 12.1, 1.35, "own", 52),
    ),
    "services": (
        Occupation("cook", 23, 0.43, 7.6, 0.5, peak=28),
        Occupation("waiter", 20, 0.74, 9.7, 0.45, peak=23),
        Occupation("cleaner", 34, 0.48, 6.8, 0.5, peak=50),
        Occupation("hairdresser", 9, 0.86, 9.9, 0.6, "own"),
        Occupation("gardener", 9, 0.08, 6.4, 0.55, "own", 36),
    ),
    "building and repair": (
        Occupation("carpenter", 16, 0.02, 8.6, 0.85, "own"),
        Occupation("electrician", 9, 0.02, 10.2, 1.15),
        Occupation("plumber", 7, 0.01, 9.3, 1.1, "own"),
        Occupation("painter", 7, 0.08, 7.9, 0.75, "own"),
        Occupation("car mechanic", 17, 0.02, 9.1, 0.9, peak=38),
    ),
    "industry and transport": (
        Occupation("machine operator", 42, 0.34, 8.3, 0.8, peak=48),
        Occupation("welder", 7, 0.05, 8.7, 0.95),
        Occupation("sewing worker", 6, 0.76, 6, 0.5, peak=55),
        Occupation("lorry driver", 29, 0.05, 8.9, 0.95),
        Occupation("warehouse worker", 32, 0.2, 8.5, 0.65, peak=30),
    ),
    "land and sea": (
        Occupation("farmer", 9, 0.2, 9.6, 0.8, "land", 62),
        Occupation("farm worker", 10, 0.2, 4.6, 0.45, "land", 34),
        Occupation("fisher", 1.2, 0.06, 8, 0.7, "land"),
    ),
    "not working": (Occupation("no occupation", 14, 0.6, 7.5, 0.3, "none", 17),),
}

LEAST_INCOME, MOST_INCOME = 1_000, 10_000  # answers beyond these limits are reported as the limits
