"""The parameters of the synthetic hospital data: people, work, places, illnesses, names.

Every number is a rough guess at an ageing European country, chosen so that the generated table looks
right to a reader; none is a published statistic. Codes, blocks and chapters are those of ICD-10.
"""

from __future__ import annotations

from typing import Literal, NamedTuple, TypeAlias

Rhythm: TypeAlias = Literal["even", "winter", "summer", "planned"]  # planned: on working days
Settlement: TypeAlias = Literal["anywhere", "city", "rural"]

SEXES = ("female", "male")
OLDEST = 104

# Inhabitants (thousands per year of age) at some ages; interpolated linearly.
POPULATION_AGES = (0, 10, 20, 30, 40, 50, 58, 66, 75, 82, 90, 97, OLDEST)
POPULATION = {
    "female": (37, 38, 39, 50, 53, 56, 66, 54, 44, 38, 17, 3, 0.1),
    "male": (39, 40, 42, 53, 54, 56, 65, 50, 37, 28, 8, 1, 0.02),
}


class Diagnosis(NamedTuple):
    """The frequency of a diagnosis by sex, age and season, and its cost."""

    code: str
    share: float  # how common, relative to the other codes
    women: float  # share of women at equal population, from 0 to 1
    peak: float  # age of highest risk; `spread` is the standard deviation around it
    spread: float
    low: int  # age limits; high = 0 means the first days of life
    high: int
    cost: int  # median of the stay in euros at age 50
    rhythm: Rhythm = "even"


# chapter -> block -> codes
DIAGNOSES: dict[str, dict[str, tuple[Diagnosis, ...]]] = {
    "infections": {
        "A00-A09": (
            Diagnosis("A08", 5, 0.52, 4, 14, 0, 104, 1300, "winter"),
            Diagnosis("A09", 10, 0.54, 60, 40, 0, 104, 1600, "summer"),
        ),
        "A30-A49": (Diagnosis("A41", 13, 0.44, 80, 14, 0, 104, 9800),),
    },
    "neoplasms": {
        "C15-C26": (
            Diagnosis("C18", 9, 0.46, 74, 11, 30, 104, 11400, "planned"),
            Diagnosis("C25", 5, 0.48, 73, 10, 35, 104, 9700, "planned"),
        ),
        "C30-C39": (Diagnosis("C34", 15, 0.38, 70, 9, 35, 104, 7900, "planned"),),
        "C50-C50": (Diagnosis("C50", 12, 0.99, 64, 13, 25, 104, 6100, "planned"),),
        "C51-C58": (Diagnosis("C56", 3, 1, 66, 12, 20, 104, 9900, "planned"),),
        "C60-C63": (
            Diagnosis("C61", 8, 0, 70, 8, 42, 104, 8300, "planned"),
            Diagnosis("C62", 1, 0, 34, 8, 15, 70, 4700, "planned"),
        ),
        "C64-C68": (Diagnosis("C67", 8, 0.25, 75, 10, 35, 104, 4600, "planned"),),
        "C81-C96": (
            Diagnosis("C83", 3, 0.45, 70, 13, 10, 104, 12500, "planned"),
            Diagnosis("C91", 2, 0.43, 5, 5, 1, 70, 16800, "planned"),
        ),
        "D10-D36": (Diagnosis("D25", 6, 1, 45, 6, 25, 65, 4100, "planned"),),
    },
    "blood": {
        "D50-D53": (Diagnosis("D50", 5, 0.58, 78, 14, 1, 104, 2300),),
    },
    "endocrine": {
        "E00-E07": (Diagnosis("E04", 5, 0.77, 54, 13, 16, 90, 4000, "planned"),),
        "E10-E14": (
            Diagnosis("E10", 3, 0.46, 15, 12, 1, 80, 3200),
            Diagnosis("E11", 11, 0.42, 69, 12, 25, 104, 4300),
        ),
        "E65-E68": (Diagnosis("E66", 3, 0.7, 43, 10, 18, 67, 7700, "planned"),),
        "E70-E90": (Diagnosis("E86", 7, 0.56, 84, 9, 0, 104, 1900, "summer"),),
    },
    "mental": {
        "F00-F09": (Diagnosis("F05", 4, 0.48, 84, 7, 60, 104, 5200),),
        "F10-F19": (Diagnosis("F10", 16, 0.25, 48, 13, 14, 85, 2400),),
        "F20-F29": (Diagnosis("F20", 7, 0.42, 38, 13, 16, 80, 9300),),
        "F30-F39": (
            Diagnosis("F32", 7, 0.58, 46, 18, 13, 90, 7900),
            Diagnosis("F33", 9, 0.62, 50, 15, 16, 90, 9100),
        ),
        "F50-F59": (Diagnosis("F50", 1.5, 0.92, 17, 5, 11, 45, 12800),),
    },
    "nervous": {
        "G20-G26": (Diagnosis("G20", 5, 0.41, 77, 8, 40, 104, 6000, "planned"),),
        "G35-G37": (Diagnosis("G35", 3, 0.71, 39, 11, 16, 75, 3700),),
        "G40-G47": (
            Diagnosis("G40", 10, 0.46, 45, 32, 0, 104, 3000),
            Diagnosis("G45", 7, 0.49, 76, 11, 35, 104, 3100),
            Diagnosis("G47", 7, 0.25, 57, 11, 18, 85, 1200, "planned"),
        ),
    },
    "eye": {
        "H25-H28": (Diagnosis("H25", 6, 0.55, 76, 8, 45, 104, 1800, "planned"),),
    },
    "ear": {
        "H80-H83": (Diagnosis("H81", 6, 0.59, 66, 15, 20, 104, 1700),),
    },
    "circulatory": {
        "I10-I15": (Diagnosis("I10", 14, 0.64, 73, 13, 25, 104, 1700),),
        "I20-I25": (
            Diagnosis("I20", 13, 0.36, 69, 10, 32, 104, 3600),
            Diagnosis("I21", 14, 0.33, 71, 12, 28, 104, 6400, "winter"),
            Diagnosis("I25", 14, 0.27, 69, 9, 35, 104, 6900, "planned"),
        ),
        "I26-I28": (Diagnosis("I26", 4, 0.51, 72, 14, 18, 104, 4600),),
        "I30-I52": (
            Diagnosis("I35", 5, 0.44, 80, 7, 40, 104, 22500, "planned"),
            Diagnosis("I48", 18, 0.45, 74, 9, 30, 104, 3300),
            Diagnosis("I50", 27, 0.48, 83, 8, 35, 104, 4700, "winter"),
        ),
        "I60-I69": (
            Diagnosis("I61", 3, 0.46, 75, 12, 20, 104, 11800, "winter"),
            Diagnosis("I63", 15, 0.46, 78, 10, 25, 104, 7600, "winter"),
        ),
        "I70-I79": (Diagnosis("I70", 12, 0.35, 73, 9, 40, 104, 7300, "planned"),),
        "I80-I89": (Diagnosis("I83", 5, 0.66, 55, 12, 20, 90, 2100, "planned"),),
    },
    "respiratory": {
        "J00-J06": (Diagnosis("J06", 6, 0.46, 2, 5, 0, 104, 1300, "winter"),),
        "J09-J18": (
            Diagnosis("J10", 5, 0.5, 70, 30, 0, 104, 2900, "winter"),
            Diagnosis("J18", 13, 0.43, 80, 14, 0, 104, 4100, "winter"),
        ),
        "J20-J22": (
            Diagnosis("J20", 6, 0.46, 1, 4, 0, 104, 1700, "winter"),
            Diagnosis("J21", 2, 0.42, 0, 1, 0, 3, 2300, "winter"),
        ),
        "J30-J39": (
            Diagnosis("J34", 5, 0.33, 35, 12, 10, 80, 2300, "planned"),
            Diagnosis("J35", 8, 0.47, 5, 8, 1, 45, 1900, "planned"),
        ),
        "J40-J47": (
            Diagnosis("J44", 11, 0.44, 72, 9, 38, 104, 4200, "winter"),
            Diagnosis("J45", 2.5, 0.48, 20, 22, 2, 90, 2300, "winter"),
        ),
    },
    "digestive": {
        "K20-K31": (Diagnosis("K29", 9, 0.58, 55, 24, 5, 104, 1500),),
        "K35-K38": (Diagnosis("K35", 7, 0.47, 18, 14, 2, 95, 3700),),
        "K40-K46": (Diagnosis("K40", 10, 0.11, 66, 17, 0, 104, 2600, "planned"),),
        "K50-K52": (Diagnosis("K50", 3, 0.53, 31, 13, 8, 85, 4200),),
        "K55-K64": (
            Diagnosis("K56", 9, 0.53, 75, 15, 1, 104, 5400),
            Diagnosis("K57", 9, 0.54, 68, 13, 30, 104, 4400),
        ),
        "K70-K77": (Diagnosis("K70", 4, 0.29, 57, 9, 28, 85, 6300),),
        "K80-K87": (Diagnosis("K80", 15, 0.6, 60, 17, 15, 104, 4000),),
    },
    "skin": {
        "L00-L08": (Diagnosis("L02", 5, 0.41, 40, 20, 0, 95, 2000),),
        "L40-L45": (Diagnosis("L40", 2, 0.45, 52, 14, 10, 90, 3800),),
    },
    "musculoskeletal": {
        "M15-M19": (
            Diagnosis("M16", 11, 0.55, 71, 10, 35, 100, 7600, "planned"),
            Diagnosis("M17", 12, 0.57, 70, 9, 38, 98, 7900, "planned"),
        ),
        "M45-M49": (Diagnosis("M48", 6, 0.52, 75, 9, 35, 100, 7400, "planned"),),
        "M50-M54": (
            Diagnosis("M51", 8, 0.48, 50, 13, 18, 90, 4500),
            Diagnosis("M54", 10, 0.58, 63, 18, 14, 104, 2200),
        ),
    },
    "genitourinary": {
        "N10-N16": (Diagnosis("N10", 4, 0.78, 35, 25, 0, 104, 2300),),
        "N17-N19": (
            Diagnosis("N17", 5, 0.46, 81, 11, 10, 104, 5300, "summer"),
            Diagnosis("N18", 4, 0.4, 72, 14, 10, 104, 5100),
        ),
        "N20-N23": (Diagnosis("N20", 10, 0.32, 51, 14, 14, 95, 2400, "summer"),),
        "N30-N39": (Diagnosis("N39", 9, 0.64, 81, 18, 0, 104, 2600),),
        "N40-N51": (Diagnosis("N40", 6, 0, 73, 8, 45, 104, 4000, "planned"),),
        "N80-N98": (Diagnosis("N80", 2.5, 1, 34, 7, 15, 52, 3400, "planned"),),
    },
    "pregnancy": {
        "O00-O08": (Diagnosis("O03", 2, 1, 33, 7, 15, 50, 1300),),
        "O10-O16": (Diagnosis("O14", 2, 1, 32, 6, 15, 50, 4300),),
        "O30-O48": (
            Diagnosis("O34", 7, 1, 33, 5, 18, 48, 3900),
            Diagnosis("O42", 6, 1, 31, 5, 16, 47, 2800),
        ),
        "O60-O75": (
            Diagnosis("O68", 7, 1, 31, 5, 15, 47, 2900),
            Diagnosis("O70", 7, 1, 30, 5, 15, 46, 2400),
        ),
        "O80-O84": (
            Diagnosis("O80", 8, 1, 30, 5, 15, 46, 2200),
            Diagnosis("O82", 5, 1, 32, 5, 17, 48, 4000, "planned"),
        ),
    },
    "perinatal": {
        "P05-P08": (Diagnosis("P07", 5, 0.49, 0, 1, 0, 0, 19500),),
        "P20-P29": (Diagnosis("P22", 2, 0.42, 0, 1, 0, 0, 6200),),
        "P50-P61": (Diagnosis("P59", 3, 0.44, 0, 1, 0, 0, 1800),),
    },
    "congenital": {
        "Q20-Q28": (Diagnosis("Q21", 1.5, 0.5, 0, 2, 0, 60, 14200, "planned"),),
    },
    "symptoms": {
        "R00-R09": (Diagnosis("R07", 9, 0.48, 57, 17, 10, 104, 1300),),
        "R10-R19": (Diagnosis("R10", 10, 0.61, 24, 20, 3, 100, 1300),),
        "R50-R69": (
            Diagnosis("R55", 9, 0.52, 78, 24, 5, 104, 1900, "summer"),
            Diagnosis("R56", 2, 0.45, 1, 1.6, 0, 8, 1500, "winter"),
        ),
    },
    "injuries": {
        "S00-S09": (Diagnosis("S06", 16, 0.44, 40, 45, 0, 104, 1400, "summer"),),
        "S40-S49": (Diagnosis("S42", 8, 0.58, 72, 24, 1, 104, 4900),),
        "S50-S59": (Diagnosis("S52", 9, 0.62, 66, 30, 2, 104, 4000, "winter"),),
        "S70-S79": (Diagnosis("S72", 13, 0.63, 86, 8, 1, 104, 9600, "winter"),),
        "S80-S89": (
            Diagnosis("S82", 9, 0.52, 48, 19, 2, 100, 5700, "winter"),
            Diagnosis("S83", 6, 0.38, 29, 13, 11, 75, 3500, "planned"),
        ),
        "T80-T88": (Diagnosis("T84", 7, 0.54, 72, 12, 18, 104, 9200, "planned"),),
    },
    "contact with services": {
        "Z30-Z39": (Diagnosis("Z38", 27, 0.49, 0, 1, 0, 0, 1300),),
    },
}


class Profession(NamedTuple):
    """The distribution of people in a profession by sex and age."""

    name: str
    weight: float
    women: float  # share of women, from 0 to 1
    low: int  # age limits; people start and leave the job over `ramp` years
    high: int
    ramp: int = 5
    lives: Settlement = "anywhere"  # where it is over-represented


# sector -> professions
PROFESSIONS: dict[str, tuple[Profession, ...]] = {
    "in education": (
        Profession("preschool child", 100, 0.5, 0, 5, 1),
        Profession("pupil", 150, 0.5, 6, 19, 3),
        Profession("apprentice", 30, 0.45, 16, 23, 3),
        Profession("student", 60, 0.52, 18, 29, 6, "city"),
    ),
    "not employed": (
        Profession("homemaker", 7, 0.92, 20, 80),
        Profession("unemployed", 6, 0.45, 18, 66),
        Profession("retired", 60, 0.5, 55, OLDEST, 12),
    ),
    "health and care": (
        Profession("nurse", 5.5, 0.84, 19, 67),
        Profession("care assistant", 4, 0.83, 17, 67),
        Profession("physician", 2, 0.49, 25, 71),
        Profession("pharmacist", 0.6, 0.72, 24, 70),
        Profession("physiotherapist", 1, 0.74, 20, 66),
    ),
    "teaching and research": (
        Profession("teacher", 4.5, 0.7, 24, 67),
        Profession("nursery teacher", 2.5, 0.93, 19, 66),
        Profession("scientist", 1, 0.42, 24, 70, 5, "city"),
    ),
    "office and law": (
        Profession("office clerk", 11, 0.74, 18, 67),
        Profession("accountant", 3, 0.62, 20, 68),
        Profession("civil servant", 4, 0.52, 19, 67),
        Profession("lawyer", 1, 0.42, 26, 73, 5, "city"),
        Profession("manager", 4.5, 0.29, 26, 71),
    ),
    "technology": (
        Profession("software developer", 3.5, 0.18, 19, 66, 5, "city"),
        Profession("engineer", 4, 0.17, 23, 67),
        Profession("laboratory technician", 1.2, 0.57, 19, 66),
    ),
    "shops and services": (
        Profession("sales assistant", 8, 0.7, 16, 67),
        Profession("cook", 3, 0.47, 16, 66),
        Profession("waiter", 2.2, 0.58, 16, 64),
        Profession("hairdresser", 1, 0.88, 16, 65),
        Profession("cleaner", 4, 0.76, 18, 68),
    ),
    "building": (
        Profession("bricklayer", 2, 0.02, 16, 64),
        Profession("electrician", 2.2, 0.03, 17, 66),
        Profession("carpenter", 1.6, 0.05, 16, 65),
        Profession("plumber", 1.5, 0.02, 16, 65),
    ),
    "industry": (
        Profession("machine operator", 4.5, 0.21, 17, 66),
        Profession("car mechanic", 2, 0.04, 16, 66),
        Profession("food worker", 1.5, 0.5, 16, 66),
    ),
    "transport and safety": (
        Profession("lorry driver", 3, 0.03, 20, 68),
        Profession("bus driver", 1, 0.13, 22, 68),
        Profession("warehouse worker", 4, 0.27, 17, 66),
        Profession("police officer", 1.3, 0.28, 19, 62),
        Profession("firefighter", 0.5, 0.04, 19, 61),
    ),
    "land": (
        Profession("farmer", 1.8, 0.28, 18, 76, 8, "rural"),
        Profession("forester", 0.4, 0.13, 18, 66, 5, "rural"),
        Profession("gardener", 1.3, 0.35, 16, 67),
    ),
    "arts and media": (
        Profession("journalist", 0.7, 0.5, 22, 70, 5, "city"),
        Profession("musician", 0.5, 0.42, 18, 74, 5, "city"),
    ),
}


# Postcode prefix of a place -> thousands of inhabitants. The longer the prefix, the smaller the place;
# no prefix is a prefix of another.
CITIES = {
    "01": 560, "020": 95, "026": 57, "0290": 22, "0295": 17, "04": 620, "0660": 83, "073": 110,
    "10": 1900, "12": 1650, "144": 180, "1580": 34, "1623": 41, "1720": 66, "180": 210,
    "20": 1750, "230": 220, "235": 76, "2470": 40, "2523": 13, "28": 570,
    "30": 535, "330": 330, "341": 200, "3525": 9, "370": 118, "381": 250,
    "40": 630, "44": 590, "451": 580, "4771": 52, "481": 317, "4910": 38,
    "50": 1080, "521": 250, "5300": 36, "531": 330, "551": 220, "5670": 11, "5850": 28,
    "60": 770, "641": 160, "6521": 27, "661": 180, "681": 310, "6990": 14,
    "70": 630, "720": 91, "7320": 24, "761": 308, "791": 231, "7825": 19,
    "80": 1480, "830": 64, "8430": 12, "861": 297, "8750": 8, "890": 126, "8810": 6,
    "904": 518, "930": 153, "9400": 53, "9505": 44, "970": 127, "99": 214,
}  # fmt: skip
COUNTRYSIDE = {
    "03": 160, "09": 240, "19": 330, "27": 390, "31": 280, "39": 190, "54": 310, "67": 420, "74": 460,
    "82": 440, "98": 230,
}  # fmt: skip


class Names(NamedTuple):
    """Given names of one origin, and the parts from which its surnames are built."""

    weight: float
    female: str
    male: str
    stems: str
    endings: str


# The more common names come first.
NAMES = (
    Names(
        40,
        "Anna Lena Katrin Hannah Sabine Julia Petra Lotte Mareike Greta Ulrike Johanna Frieda Heike",
        "Paul Lukas Thomas Jürgen Felix Stefan Moritz Karl Bernd Jonas Uwe Henning Matthias Anton",
        "Brand Eich Holz Lind Stein Wald Berg Rosen Hager Mühl Kalt Dorn Falken Grün",
        "ner mann er hoff bach meier feld ing",
    ),
    Names(
        11,
        "Marie Léa Camille Élise Chloé Manon Odile Inès Margot Sylvie",
        "Louis Hugo Étienne Pascal Rémi Julien Olivier Théo Bastien Guy",
        "Beau Clair Mont Fontan Char Lam Dur Val Perr Mar",
        "ier ville and el ot eau bert ard",
    ),
    Names(
        10,
        "Lucía Carmen Inés Pilar Marta Elena Beatriz Rocío Sofia Teresa",
        "Javier Diego Miguel João Rafael Pablo Tomás Nuno Sergio Álvaro",
        "Alar Mend Vel Sant Torr Cast Herr Pal Quint Rib",
        "ez ares ano eira illo ada era osa",
    ),
    Names(
        8,
        "Giulia Chiara Francesca Paola Alessia Bianca Ornella Serena",
        "Marco Matteo Lorenzo Giorgio Davide Nicola Enzo Fabio",
        "Bell Ferr Mont Ross Gall Col Mar Vent",
        "ini etti ari one ucci ella ato esi",
    ),
    Names(
        12,
        "Agnieszka Olga Katarzyna Milena Zofia Ivana Daria Jelena Nadia Vesna",
        "Piotr Marek Aleksander Dušan Tomasz Ivan Bogdan Mirko Jan Oleg",
        "Kowal Nov Dobr Star Vrab Mal Zel Gor Bil Kras",
        "ak enko ic uk ec ar ik ovich",
    ),
    Names(
        10,
        "Elif Ayşe Zeynep Layla Fatma Yasmin Amina Derya Nour Salma",
        "Mehmet Emre Yusuf Omar Karim Mustafa Can Tarek Hakan Idris",
        "Kara Demir Yil Ak Öz Tash Hada Rah Naj Saf",
        "oglu man kaya dan i er gul adi",
    ),
    Names(
        4,
        "Ingrid Astrid Freja Signe Maja Aino Solveig Linnea",
        "Lars Søren Nils Erik Mikko Anders Håkon Leif",
        "Lund Sand Hag Ek Bjørk Nord Holm Sol",
        "berg strøm gren dahl qvist sen vik ås",
    ),
    Names(
        3,
        "Priya Ananya Meera Lakshmi Sunita Farah Kavya Nisha",
        "Arjun Ravi Sanjay Imran Vikram Anil Rohan Deepak",
        "Chand Rag Mal Sri Ban Dev Kul Pra",
        "ra havan hotra kar erji esh nath want",
    ),
    Names(
        3,
        "Mei Linh Yuki Ji-woo Xia Thu Haruka Min",
        "Wei Minh Kenji Hao Tuan Joon Takeshi Long",
        "Li Ta Zha Ho Ya Ki Ngo Sa",
        "n ng mura ra to ta i u",
    ),
    Names(
        2,
        "Amara Ngozi Abena Wanjiru Fatou Zola Makena Thandi",
        "Kwame Chidi Kofi Jabari Mamadou Sipho Tendai Bola",
        "Ade Oko Mba Nko Dia Kama Tou Zu",
        "wale ro nda si llo u ma ngo",
    ),
)

RECIPE = """\
# Made-up hospital stays: nobody in this table exists.

[input]
path = "hospital.csv"

[columns.name]
role = "identifier"

[columns.patient]
role = "identifier"

[columns.birth_date]
role = "quasi"
kind = "date"

[columns.sex]
role = "quasi"
kind = "categorical"

[columns.postcode]
role = "quasi"
kind = "categorical"
hierarchy = { prefix = 1 }

[columns.profession]
role = "quasi"
kind = "categorical"
hierarchy = "hospital_profession.csv"

# The day of a stay is known to neighbours and employers: with it, one row would stand out.
[columns.admission_date]
role = "drop"

# shoal refuses the next two columns unless these risks are accepted. The reasons appear in the report.
[columns.diagnosis]
role = "sensitive"

[columns.diagnosis.accept]
recoverable = "everybody knows which diagnoses occur in one sex only"
unique = "nobody in this table exists, and in longer ones every diagnosis repeats"

[columns.cost]
role = "sensitive"
accept = { unique = "outsiders do not know what a stay has cost" }

[privacy]
k = 5

[method]
name = "auto"
seed = 0

[output]
path = "hospital-k5.csv"
"""
