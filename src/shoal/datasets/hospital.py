"""Synthetic hospital stays: a realistic table of any length that describes no real people.

Diagnosis, sex and age are drawn jointly, because they depend on each other. The other columns are drawn
one after another, conditional on them: profession by age, residence by profession, season and cost by
diagnosis. The parameters are in `_hospital_tables`.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import polars as pl

from shoal.datasets import _hospital_tables as tables
from shoal.datasets.making import Floats, Ints, Tree, arx_lines, draw, draw_given, pick, write_text

DIAGNOSIS_TREE: Tree = {
    "all": {
        chapter: {block: {entry.code: {} for entry in entries} for block, entries in blocks.items()}
        for chapter, blocks in tables.DIAGNOSES.items()
    }
}
PROFESSION_TREE: Tree = {
    "all": {sector: {entry.name: {} for entry in entries} for sector, entries in tables.PROFESSIONS.items()}
}

_DIAGNOSES = [entry for blocks in tables.DIAGNOSES.values() for block in blocks.values() for entry in block]
_PROFESSIONS = [entry for sector in tables.PROFESSIONS.values() for entry in sector]
_CODES = [entry.code for entry in _DIAGNOSES]
_PROFESSION_NAMES = [entry.name for entry in _PROFESSIONS]
_AGES = np.arange(tables.OLDEST + 1)
_RHYTHMS: tuple[tables.Rhythm, ...] = ("even", "winter", "summer", "planned")
_SETTLEMENTS: tuple[tables.Settlement, ...] = ("anywhere", "city", "rural")
_FIRST_DAY = np.datetime64("2022-01-01", "D")
_N_DAYS = 3 * 365 + 1
_NO_PROFESSION = 0.02
_NO_POSTCODE = 0.005


def hospital(rows: int = 10_000, seed: int = 0) -> pl.DataFrame:
    """Generate a table of hospital stays, one row each.

    Time and memory are proportional to `rows`: ten million take seconds and a few gigabytes.

    Parameters
    ----------
    rows : int, default 10_000
        Number of stays, at least 1.
    seed : int, default 0
        The same seed, number of rows and version give the same table. Not negative.

    Returns
    -------
    stays : polars.DataFrame
        Columns `name`, `patient` (unique), `birth_date`, `sex`, `postcode`, `profession`,
        `admission_date`, `diagnosis` (a leaf of `DIAGNOSIS_TREE`) and `cost` (whole euros). About two
        in a hundred professions (leaves of `PROFESSION_TREE`) and one in two hundred postcodes are null.

    Raises
    ------
    ValueError
        If `rows` is below 1 or `seed` is negative.

    Notes
    -----
    A shorter table is not a prefix of a longer one with the same seed.

    Examples
    --------
    >>> stays = hospital(rows=1000, seed=7)
    >>> stays.shape, stays["patient"].n_unique()
    ((1000, 9), 1000)
    """
    if rows < 1:
        raise ValueError(f"rows must be at least 1, but is {rows}")
    rng = np.random.Generator(np.random.PCG64(seed))
    diagnosis, sex, age = _draw_cases(rows, rng)
    admission = _draw_admission(diagnosis, rng)
    birth = admission - _draw_days_lived(diagnosis, age, rng)
    profession = draw_given(_profession_weights(), sex * len(_AGES) + age, rng)
    return pl.DataFrame(
        {
            "name": _draw_names(sex, rng),
            "patient": _draw_patients(rows, rng),
            "birth_date": _dates(birth),
            "sex": pick(tables.SEXES, sex),
            "postcode": _with_gaps(_draw_postcodes(profession, rng), _NO_POSTCODE, rng),
            "profession": _with_gaps(pick(_PROFESSION_NAMES, profession), _NO_PROFESSION, rng),
            "admission_date": _dates(admission),
            "diagnosis": pick(_CODES, diagnosis),
            "cost": _draw_costs(diagnosis, age, rng),
        }
    )


HOSPITAL_FILES = ("hospital.csv", "hospital_diagnosis.csv", "hospital_profession.csv", "hospital.toml")


def write_hospital(folder: Path, rows: int = 10_000, seed: int = 0) -> Path:
    """Write the stays, their trees and a recipe for them into a folder.

    Parameters
    ----------
    folder : pathlib.Path
        Created if it does not exist. Receives `hospital.csv`, `hospital_diagnosis.csv`,
        `hospital_profession.csv` and `hospital.toml`; existing files are overwritten.
    rows, seed : int
        As in `hospital`.

    Returns
    -------
    recipe : pathlib.Path
        The recipe `hospital.toml`.
    """
    stays = hospital(rows, seed)
    folder.mkdir(parents=True, exist_ok=True)
    stays.write_csv(folder / "hospital.csv")
    write_text(folder / "hospital_diagnosis.csv", arx_lines(DIAGNOSIS_TREE))
    write_text(folder / "hospital_profession.csv", arx_lines(PROFESSION_TREE))
    recipe = folder / "hospital.toml"
    write_text(recipe, tables.RECIPE)
    return recipe


def is_hospital_folder(folder: Path) -> bool:
    """Return whether `write_hospital` wrote to a folder, according to the recipe's first line."""
    try:
        text = (folder / "hospital.toml").read_text(encoding="utf-8")
    except (OSError, ValueError):
        return False
    return text.splitlines()[:1] == tables.RECIPE.splitlines()[:1]


def _with_gaps(texts: pl.Series, share: float, rng: np.random.Generator) -> pl.Series:
    """Replace a share of the texts with null."""
    known = pl.Series(rng.random(len(texts), dtype=np.float32) >= share)
    return pl.select(pl.when(known).then(texts)).to_series()


def _dates(days: Ints) -> pl.Series:
    """Convert days since 1970 to dates."""
    return pl.Series(days.astype(np.int32)).cast(pl.Date)


def _population() -> Floats:
    """Return the number of inhabitants by sex and age."""
    return np.array(
        [np.interp(_AGES, tables.POPULATION_AGES, tables.POPULATION[sex]) for sex in tables.SEXES]
    )


def _case_weights() -> Floats:
    """Return the weight of every combination of diagnosis, sex and age."""
    population = _population()
    weights = np.empty((len(_DIAGNOSES), *population.shape))
    for i, entry in enumerate(_DIAGNOSES):
        risk = np.exp(-0.5 * ((_AGES - entry.peak) / entry.spread) ** 2)
        risk[(entry.low > _AGES) | (entry.high < _AGES)] = 0.0
        cases = population * risk * np.array([[entry.women], [1.0 - entry.women]])
        weights[i] = cases * (entry.share / cases.sum())
    return weights


def _draw_cases(rows: int, rng: np.random.Generator) -> tuple[Ints, Ints, Ints]:
    """Draw diagnosis, sex and age (in completed years) together."""
    weights = _case_weights()
    diagnosis, sex, age = np.unravel_index(draw(weights.ravel(), rows, rng), weights.shape)
    return diagnosis, sex, age


def _day_weights() -> Floats:
    """Return the weights of the days of three years, one line per rhythm."""
    days = _FIRST_DAY + np.arange(_N_DAYS)
    year = (days - days.astype("datetime64[Y]")).astype(int) * (2 * np.pi / 365.25)
    weekend = ~np.is_busday(days)
    # Between Christmas and New Year there are hardly any planned stays.
    holidays = (year < np.deg2rad(6)) | (year > np.deg2rad(350))
    # Infections peak late in January, accidents and heat in the middle of July.
    winter, summer = np.cos(year - np.deg2rad(25)), np.cos(year - np.deg2rad(195))
    acute = np.where(weekend, 0.8, 1.0)
    planned = np.where(weekend, 0.12, 1.0) * np.where(holidays, 0.25, 1.0)
    seasons = {
        "even": acute,
        "winter": acute * (1 + 0.45 * winter),
        "summer": acute * (1 + 0.3 * summer),
        "planned": planned * (1 - 0.12 * summer),
    }
    return np.array([seasons[rhythm] for rhythm in _RHYTHMS])


def _draw_admission(diagnosis: Ints, rng: np.random.Generator) -> Ints:
    """Draw the day of admission, as days since 1970."""
    rhythm = np.array([_RHYTHMS.index(entry.rhythm) for entry in _DIAGNOSES])
    return draw_given(_day_weights(), rhythm[diagnosis], rng) + int(_FIRST_DAY.astype(int))


def _draw_days_lived(diagnosis: Ints, age: Ints, rng: np.random.Generator) -> Ints:
    """Draw the age in days such that `age` birthdays have passed, for any leap years."""
    # `enough` includes the maximum number of leap days in `age` years, `too_many` the minimum in one year
    # more: any number of days in between is correct for every date of birth.
    enough = 365 * _AGES + (_AGES + 3) // 4
    too_many = 365 * (_AGES + 1) + (_AGES + 1) // 4
    luck = rng.random(len(age), dtype=np.float32)
    days = enough[age] + (luck * (too_many - enough)[age]).astype(np.int64)
    newborn = np.array([entry.high == 0 for entry in _DIAGNOSES])
    # Most newborn patients are admitted where and when they are born, the rest within days.
    return np.where(newborn[diagnosis], (4 * luck**6).astype(np.int64), days)


def _profession_weights() -> Floats:
    """Return the weights of the professions, one line per sex and age."""
    lines = []
    for entry in _PROFESSIONS:
        begun = np.clip((_AGES - entry.low + 1) / entry.ramp, 0, 1)
        not_ended = np.clip((entry.high - _AGES + 1) / entry.ramp, 0, 1)
        by_age = entry.weight * begun * not_ended
        lines.append(np.concatenate([entry.women * by_age, (1 - entry.women) * by_age]))
    return np.array(lines).T


def _postcodes(prefix: str, thousands: int, thousands_per_code: float) -> tuple[list[str], Floats]:
    """Divide a place into postcodes; the centre (the lowest numbers) is more populated."""
    free = 5 - len(prefix)
    n_codes = min(10**free, max(1, round(thousands / thousands_per_code)))
    # Districts of about four codes, far apart, so that every digit divides the place further.
    size = max(4, -(-n_codes // 10 ** (free - 1)))
    step = 10 * (10 ** (free - 1) // -(-n_codes // size))
    numbers = [i // size * step + i % size * (10 // size) for i in range(n_codes)]
    codes = [f"{prefix}{number:0{free}d}" for number in numbers]
    crowd = 1 / np.sqrt(np.arange(n_codes) + 2.0)
    return codes, thousands * crowd / crowd.sum()


def _draw_postcodes(profession: Ints, rng: np.random.Generator) -> pl.Series:
    """Draw where people live, which depends on the profession."""
    cities = [_postcodes(prefix, n, 10) for prefix, n in tables.CITIES.items()]
    villages = [_postcodes(prefix, n, 4) for prefix, n in tables.COUNTRYSIDE.items()]
    codes = [code for place in cities + villages for code in place[0]]
    weights = np.concatenate([place[1] for place in cities + villages])
    is_city = np.arange(len(codes)) < sum(len(place[0]) for place in cities)
    pull = {
        "anywhere": weights,
        "city": weights * np.where(is_city, 1.0, 0.2),
        "rural": weights * np.where(is_city, 0.04, 1.0),
    }
    lines = np.array([pull[settlement] for settlement in _SETTLEMENTS])
    lives = np.array([_SETTLEMENTS.index(entry.lives) for entry in _PROFESSIONS])
    return pick(codes, draw_given(lines, lives[profession], rng))


def _rank_weights(n: int) -> Floats:
    """Return the weights of a list of names, most common first."""
    return 1 / (np.arange(n) + 4.0)


def _full_names(sex: str) -> tuple[list[str], Floats]:
    """List all full names for a sex, with weights."""
    texts: list[str] = []
    weights: list[Floats] = []
    for origin in tables.NAMES:
        given = (origin.female if sex == "female" else origin.male).split()
        stems, endings = origin.stems.split(), origin.endings.split()
        texts += [f"{first} {stem}{ending}" for first in given for stem in stems for ending in endings]
        ranks = [_rank_weights(len(part)) for part in (given, stems, endings)]
        crowd = np.multiply.outer(np.multiply.outer(ranks[0], ranks[1]), ranks[2]).ravel()
        weights.append(origin.weight * crowd / crowd.sum())
    return texts, np.concatenate(weights)


def _draw_names(sex: Ints, rng: np.random.Generator) -> pl.Series:
    """Draw given name and surname of one origin."""
    women, men = (_full_names(name) for name in tables.SEXES)
    lines = np.array([women[1], men[1]])
    return pick(women[0] + men[0], sex * lines.shape[1] + draw_given(lines, sex, rng))


def _draw_patients(rows: int, rng: np.random.Generator) -> pl.Series:
    """Draw unique patient numbers in random order."""
    width = max(7, len(str(rows - 1)))
    numbers = pl.Series(rng.choice(10**width, rows, replace=False))
    return pl.select("P" + pl.lit(numbers).cast(pl.String).str.zfill(width)).to_series()


def _draw_costs(diagnosis: Ints, age: Ints, rng: np.random.Generator) -> pl.Series:
    """Draw the cost of a stay: log-normal around the median of the diagnosis, increasing with age."""
    median = np.array([entry.cost for entry in _DIAGNOSES])[:, None] * np.exp(0.006 * (_AGES - 50))
    costs = np.exp(0.5 * rng.standard_normal(len(age))) * median[diagnosis, age]
    return pl.Series(np.rint(costs).astype(np.int64))
