"""Tables with planted identifiers, codes and dependencies, with headers of seven languages or of none.

Nothing here comes from shoal: words, forms and check digits are the generator's own.
"""

from __future__ import annotations

import random
import string
import tomllib
import uuid
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

import polars as pl

WORDS = tomllib.loads((Path(__file__).parent / "planted.toml").read_text(encoding="utf-8"))
MISSING, TOPICS, SENTENCES, SYLLABLES = (
    WORDS[key] for key in ("missing", "topics", "sentences", "syllables")
)
GIVEN = {language: names.split() for language, names in WORDS["given"].items()}
STREETS, CITIES, HEADERS = WORDS["streets"], WORDS["cities"], WORDS["headers"]
SILENT = (lambda at: f"v{at}", lambda at: f"X_{at:02d}", lambda at: f"feld{at}", lambda at: f"F{at + 10}",
          lambda at: f"q{at}a", lambda at: f"Unnamed: {at}")  # fmt: skip


@dataclass
class Planted:
    """A table, and what is hidden in it, by column name."""

    table: pl.DataFrame
    language: str
    identifiers: dict[str, str] = field(default_factory=dict)  # column to form
    kinds: dict[str, tuple[str, str]] = field(default_factory=dict)  # column to form and expected kind
    plain: dict[str, str] = field(default_factory=dict)  # columns that identify nobody
    dependencies: dict[tuple[str, str], str] = field(default_factory=dict)


def plant(seed: int) -> Planted:
    """Make a table of random size, language and columns."""
    rng = random.Random(seed)
    rows = rng.choice([150, 400, 1000, 2500])
    language = "silent" if rng.random() < 0.4 else rng.choice(list(HEADERS))
    made: list[tuple[str, list[str]]] = []
    found = Planted(pl.DataFrame(), language)
    silent = rng.choice(SILENT)

    def add(form: str, cells: list[str], *, gaps: bool = True) -> str:
        header = silent(len(made) + 1) if language == "silent" else HEADERS[language][form]
        made.append((header, with_gaps(cells, rng) if gaps else cells))
        return header

    for form in rng.sample(list(IDENTIFIERS), 5):
        found.identifiers[add(form, IDENTIFIERS[form](rng, rows))] = form
    for form in rng.sample(list(CODES), 3):
        kind, make = CODES[form]
        found.kinds[add(form, make(rng, rows))] = (form, kind)
    for form in rng.sample(list(PLAIN), 3):
        header = add(form, PLAIN[form](rng, rows))
        found.plain[header] = form
        found.kinds[header] = (form, "numeric")
    plant_dependencies(found, add, rng, rows)
    order = list(range(len(made)))
    rng.shuffle(order)
    found.table = pl.DataFrame({made[at][0]: made[at][1] for at in order})
    return found


def with_gaps(cells: list[str], rng: random.Random) -> list[str]:
    """Leave out some cells, with one or two marks for missing values."""
    share, marks = rng.choice([0, 0, 0.02, 0.1]), rng.sample(MISSING, 2)
    return [rng.choice(marks) if rng.random() < share else cell for cell in cells]


def plant_dependencies(found: Planted, add: Callable[..., str], rng: random.Random, rows: int) -> None:
    """Add a code with its label, and places with their regions, with or without exceptions."""
    labels = rng.sample(
        ["open", "closed", "on hold", "lost", "won", "waiting", "void", "draft"], rng.randint(4, 8)
    )
    codes = zipf(rng, list(range(len(labels))), rows)
    first = rng.choice([0, 1, 10])
    code = add("code", [str(first + at) for at in codes])
    label = add("label", [labels[at] for at in codes])
    found.kinds[code] = ("code", "categorical")
    found.dependencies[code, label] = found.dependencies[label, code] = "exact"
    state_of = {city: state for state, cities in CITIES.items() for city in cities}
    cities = zipf(rng, list(state_of), rows)
    wrong = rng.choice([0, 0.01, 0.03])
    states = [rng.choice(list(CITIES)) if rng.random() < wrong else state_of[city] for city in cities]
    is_exact = all(state_of[city] == state for city, state in zip(cities, states, strict=True))
    city, state = add("city", cities), add("state", states)
    found.dependencies[city, state] = "exact" if is_exact else "nearly"
    found.plain[city], found.plain[state] = "city", "state"


def zipf(rng: random.Random, values: list, rows: int) -> list:
    """Draw values with very different frequencies."""
    weights = [1 / (at + 1) for at in range(len(values))]
    rng.shuffle(weights)
    return rng.choices(values, weights, k=rows)


def digits(rng: random.Random, n: int) -> str:
    return "".join(rng.choices(string.digits, k=n))


def family(rng: random.Random) -> str:
    return rng.choice(SYLLABLES[0]) + rng.choice(SYLLABLES[1]) + rng.choice(["", "", "", "s", "er", "ski"])


def people(rng: random.Random, rows: int) -> list[tuple[str, str]]:
    pool = (
        [name for names in GIVEN.values() for name in names]
        if rng.random() < 0.3
        else GIVEN[rng.choice(list(GIVEN))]
    )
    return [(rng.choice(pool), family(rng)) for _ in range(rows)]


def full_names(rng: random.Random, rows: int) -> list[str]:
    form = rng.choice(
        ["{0} {1}", "{1}, {0}", "{1} {0}", "Dr. {0} {1}", "upper", "{0} {2}. {1}", "{0} {1}-{3}"]
    )
    found = []
    for given, last in people(rng, rows):
        if form in ("upper", "lower"):
            text = f"{last} {given}"
            found.append(text.upper() if form == "upper" else text.lower())
        else:
            found.append(form.format(given, last, rng.choice("ABEJKMR"), family(rng)))
    return found


def given_names(rng: random.Random, rows: int) -> list[str]:
    return [rng.choice(GIVEN[rng.choice(["en", "de", "fr", "es", "pl", "tr"])]) for _ in range(rows)]


def emails(rng: random.Random, rows: int) -> list[str]:
    hosts = ["example.org", "mail.example.com", "post.example.de", "uni.example.ac.uk"]
    return [
        f"{given[0].lower()}.{last.lower()}{rng.randint(1, 999)}@{rng.choice(hosts)}"
        for given, last in people(rng, rows)
    ]


def phones(rng: random.Random, rows: int) -> list[str]:
    forms = ["+49 {0} {1}", "0{0}/{1}", "(0{0}) {1}", "+33 6 {2} {3}", "{0}-{0}-{3}", "0{0} {1}",
             "0034{0}{1}", "0{0}{1}", "{0}{1}"]  # fmt: skip
    some = rng.sample(forms, rng.choice([1, 1, 3]))
    return [
        rng.choice(some).format(rng.randint(151, 899), digits(rng, 7), digits(rng, 4), digits(rng, 4))
        for _ in range(rows)
    ]


def ibans(rng: random.Random, rows: int) -> list[str]:
    spaced = rng.random() < 0.5
    return [
        iban(rng, rng.choice([("DE", 18), ("ES", 20), ("NL", 0), ("PL", 24)]), spaced) for _ in range(rows)
    ]


def iban(rng: random.Random, state: tuple[str, int], spaced: bool) -> str:
    body = digits(rng, state[1]) if state[1] else "INGB" + digits(rng, 10)
    text = "".join(str(int(char, 36)) for char in body + state[0] + "00")
    whole = f"{state[0]}{98 - int(text) % 97:02d}{body}"
    return " ".join(whole[at : at + 4] for at in range(0, len(whole), 4)) if spaced else whole


def nationals(rng: random.Random, rows: int) -> list[str]:
    make = rng.choice([pesel, dni, ssn, cpf, personnummer, bsn])
    return [make(rng) for _ in range(rows)]


def day(rng: random.Random) -> tuple[int, int, int]:
    return rng.randint(30, 99), rng.randint(1, 12), rng.randint(1, 28)


def pesel(rng: random.Random) -> str:
    body = "{:02d}{:02d}{:02d}".format(*day(rng)) + digits(rng, 4)
    return body + str(
        -sum(int(d) * w for d, w in zip(body, (1, 3, 7, 9, 1, 3, 7, 9, 1, 3), strict=True)) % 10
    )


def dni(rng: random.Random) -> str:
    number = rng.randint(10_000_000, 99_999_999)
    return f"{number}{'TRWAGMYFPDXBNJZSQVHLCKE'[number % 23]}"


def ssn(rng: random.Random) -> str:
    return f"{rng.randint(1, 665):03d}-{rng.randint(1, 99):02d}-{rng.randint(1, 9999):04d}"


def cpf(rng: random.Random) -> str:
    number = digits(rng, 9)
    for _ in range(2):
        rest = sum(int(d) * w for d, w in zip(number, range(len(number) + 1, 1, -1), strict=True)) * 10 % 11
        number += str(rest % 10)
    return f"{number[:3]}.{number[3:6]}.{number[6:9]}-{number[9:]}"


def personnummer(rng: random.Random) -> str:
    body = "{:02d}{:02d}{:02d}".format(*day(rng)) + digits(rng, 3)
    total = sum(sum(divmod(int(d) * (2 - at % 2), 10)) for at, d in enumerate(body))
    return f"{body[:6]}-{body[6:]}{-total % 10}"


def bsn(rng: random.Random) -> str:
    while True:
        body = digits(rng, 8)
        check = sum(int(d) * w for d, w in zip(body, range(9, 1, -1), strict=True)) % 11
        if check < 10:
            return body + str(check)


def uuids(rng: random.Random, rows: int) -> list[str]:
    texts = [str(uuid.UUID(int=rng.getrandbits(128))) for _ in range(rows)]
    return [text.upper() for text in texts] if rng.random() < 0.3 else texts


def numbers(rng: random.Random, rows: int) -> list[str]:
    """Numbers of records: consecutive, drawn, with letters, or hashes."""
    form = rng.choice(["run", "drawn", "letters", "hash", "dashed"])
    start = rng.choice([1, 1000, 250_000])
    make = {
        "run": lambda at: str(start + at), "drawn": lambda at: str(rng.randint(10_000_000, 99_999_999)),
        "letters": lambda at: f"P{digits(rng, 7)}", "hash": lambda at: f"{rng.getrandbits(64):016x}",
        "dashed": lambda at: f"{rng.randint(2015, 2024)}-{digits(rng, 5)}",
    }[form]  # fmt: skip
    return [make(at) for at in range(rows)]


def repeated(rng: random.Random, rows: int) -> list[str]:
    """Numbers of people who have a few rows each."""
    form = rng.choice(["P{:05d}", "{:08d}", "{:d}"])
    pool = rng.sample(range(10_000, 99_999), rows // 4)
    return [form.format(rng.choice(pool)) for _ in range(rows)]


def urls(rng: random.Random, rows: int) -> list[str]:
    return [f"https://social.example.com/{given.lower()}{digits(rng, 4)}" for given, _ in people(rng, rows)]


def ips(rng: random.Random, rows: int) -> list[str]:
    return [".".join(str(rng.randint(1, 254)) for _ in range(4)) for _ in range(rows)]


def texts(rng: random.Random, rows: int) -> list[str]:
    return [
        f"{rng.choice(SENTENCES)} {rng.choice(TOPICS)} {rng.choice(TOPICS)} {rng.randint(1, 60)}"
        for _ in range(rows)
    ]


def streets(rng: random.Random, rows: int) -> list[str]:
    form = STREETS[rng.choice(list(STREETS))]
    return [form.format(w=family(rng), n=rng.randint(1, 180)) for _ in range(rows)]


def cards(rng: random.Random, rows: int) -> list[str]:
    found = []
    for _ in range(rows):
        body = "4" + digits(rng, 14)
        total = sum(sum(divmod(int(d) * (1 + (at + 1) % 2), 10)) for at, d in enumerate(body))
        found.append(body + str(-total % 10))
    return found


IDENTIFIERS = {
    "email": emails, "phone": phones, "name": full_names, "given": given_names, "iban": ibans,
    "national": nationals, "uuid": uuids, "number": numbers, "url": urls, "ip": ips, "text": texts,
    "street": streets, "card": cards, "repeated": repeated,
}  # fmt: skip


def regions(rng: random.Random, rows: int) -> list[str]:
    return [str(code) for code in zipf(rng, list(range(1, rng.choice([5, 9, 10, 16, 17]))), rows)]


def occupations(rng: random.Random, rows: int) -> list[str]:
    codes = sorted(
        {rng.randint(1, 9) * 1000 + rng.randint(1, 6) * 100 + rng.randint(1, 59) for _ in range(40)}
    )
    return [str(code) for code in zipf(rng, codes, rows)]


def districts(rng: random.Random, rows: int) -> list[str]:
    return zipf(rng, [f"{at:02d}{rng.randint(1, 99):03d}" for at in range(1, 40)], rows)


def icds(rng: random.Random, rows: int) -> list[str]:
    dotted = rng.random() < 0.5
    codes = [f"{rng.choice('ACEGIJKMN')}{rng.randint(0, 99):02d}" for _ in range(60)]
    return zipf(rng, [f"{code}.{rng.randint(0, 9)}" if dotted else code for code in codes], rows)


def nuts(rng: random.Random, rows: int) -> list[str]:
    return zipf(
        rng,
        [
            f"{rng.choice(['DE', 'AT', 'FR'])}{rng.randint(1, 9)}{rng.randint(1, 9)}{rng.randint(1, 9)}"
            for _ in range(30)
        ],
        rows,
    )


def months(rng: random.Random, rows: int) -> list[str]:
    form = rng.choice(["{y}/{m:02d}", "{m:02d}.{y}", "{y}-{m:02d}", "{m:02d}/{y}"])
    return [form.format(y=rng.randint(1935, 2004), m=rng.randint(1, 12)) for _ in range(rows)]


def years(rng: random.Random, rows: int) -> list[str]:
    return [str(int(rng.triangular(1931, 2005))) for _ in range(rows)]


def sexes(rng: random.Random, rows: int) -> list[str]:
    return rng.choices(rng.choice([["1", "2"], ["0", "1"], ["1", "2", "9"]]), k=rows)


def postcodes(rng: random.Random, rows: int) -> list[str]:
    centres = [rng.randint(10, 99) for _ in range(8)]
    codes = sorted({f"{rng.choice(centres)}{rng.randint(0, 999):03d}" for _ in range(max(20, rows // 8))})
    return zipf(rng, codes, rows)


def days(rng: random.Random, rows: int) -> list[str]:
    form = rng.choice(["{d:02d}.{m:02d}.{y}", "{y}-{m:02d}-{d:02d}", "{m:02d}/{d:02d}/{y}", "{d}.{m}.{y}"])
    return [
        form.format(d=rng.randint(1, 28), m=rng.randint(1, 12), y=rng.randint(1930, 2010))
        for _ in range(rows)
    ]


CODES = {
    "region": ("categorical", regions),
    "job": ("categorical", occupations),
    "icd": ("categorical", icds),
    "district": ("categorical", districts),
    "nuts": ("categorical", nuts),
    "month": ("date", months),
    "year": ("date", years),
    "sex": ("categorical", sexes),
    "zip": ("categorical", postcodes),
    "born": ("date", days),
}
PLAIN = {
    "age": lambda rng, rows: [str(int(rng.triangular(18, 95, 44))) for _ in range(rows)],
    "height": lambda rng, rows: [str(round(rng.gauss(171, 10))) for _ in range(rows)],
    "wage": lambda rng, rows: [str(100 * round(rng.lognormvariate(5.8, 0.5))) for _ in range(rows)],
    "lab": lambda rng, rows: [f"{rng.lognormvariate(1, 0.8):.2f}" for _ in range(rows)],
    "visits": lambda rng, rows: [str(int(rng.expovariate(0.4))) for _ in range(rows)],
}
