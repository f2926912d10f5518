"""Quantities: numbers with what they count, and the units in which they are compared."""

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import product
from typing import NamedTuple

from ragstone.judges.offline.words import fold, similarity

EQUAL, CLOSE, ABOUT = 1e-9, 0.005, 0.05
"""How much two amounts may differ, as a share: to be equal, if the claim only leaves digits out,
and if it is rounded with `about`."""


@dataclass(frozen=True, slots=True)
class Quantity:
    """A number and what it counts.

    Attributes:
        readings: its possible values in the dimension's base unit, each with the size of its last
            digit; 1,234 may be 1234, exact to 1, or 1.234, exact to 0.001.
        written: the same in the unit of the text.
        dimension: what is measured, "" for a bare number.
        noun: the folded word after a bare number, "" if there is none.
        before: the folded word before it.
        start: the first character in its text.
        end: the end of it and its unit; exclusive.
        shown: as the text writes it.
        factor: how many base units the unit is.
        per: the unit it is counted in, such as `month` in `5 a month`; "" for none.
        bound: "<" for at most, ">" for at least, "" for neither.
        is_about: whether the text marks it as rounded.
        is_imperial: whether the unit is a foot, a pound or similar, which are rounded.
        ends: the smallest and the largest value, if it is an end of a range.
        digits: its digits as written.
        is_code: whether the digits are a name instead of an amount, as in `version 4.10`.
    """

    readings: Mapping[float, float]
    written: Mapping[float, float]
    dimension: str
    noun: str
    before: str
    start: int
    end: int
    shown: str
    factor: float = 1.0
    per: str = ""
    bound: str = ""
    is_about: bool = False
    is_imperial: bool = False
    ends: tuple[float, float] | None = None
    digits: str = ""
    is_code: bool = False

    def is_covered_by(self, other: "Quantity") -> bool:
        """Return whether the other supports this claimed quantity; a missing unit may be any.

        Only the claim may be rounded: it may not have more digits than the other.
        """
        is_other_unit = self.per and other.per and self.per != other.per
        is_other_bound = self.bound and other.bound and self.bound != other.bound
        if is_other_unit or is_other_bound:
            return False
        if self.is_code or other.is_code:
            return not other.dimension and f"{other.digits}.".startswith(f"{self.digits}.")
        apart = ABOUT if self.is_about or self.is_imperial != other.is_imperial else EQUAL
        mine, theirs = self.readings, other.readings
        if self.dimension != other.dimension:
            if self.dimension and other.dimension:
                return False
            mine, theirs, apart = self.written, other.written, EQUAL
        return any(
            _is_within(one, two, apart)
            or (step > finer and abs(one - two) <= step / 2 and _is_within(one, two, CLOSE))
            or (not other.bound and self._allows(one, two) and _is_within(one, two, ABOUT))
            for one, step in mine.items()
            for two, finer in theirs.items()
        )

    def is_like(self, other: "Quantity") -> bool:
        """Return whether both may count the same thing in the same unit."""
        if self.dimension and other.dimension:
            return self.dimension == other.dimension
        mine, theirs = self.dimension or self.noun, other.dimension or other.noun
        if self.dimension == other.dimension and mine and theirs:
            return similarity(mine, theirs) > 0
        return not (mine and theirs)

    def differs_from(self, other: "Quantity") -> bool:
        """Return whether both count the same thing, and only one of them can be true."""
        if self.dimension != other.dimension or self.is_code != other.is_code:
            return False
        if self.is_covered_by(other) or other.is_covered_by(self) or self._leaves_room(other):
            return False
        if self.per and other.per and self.per != other.per:
            return False
        if self.dimension:
            return True
        if self.noun and other.noun and not self.is_code:
            return similarity(self.noun, other.noun) > 0
        return bool(self.before) and self.before == other.before

    def _allows(self, limit: float, value: float) -> bool:
        """Return whether a value is on the right side of this bound."""
        return bool(self.bound) and (value <= limit if self.bound == "<" else value >= limit)

    def _leaves_room(self, other: "Quantity") -> bool:
        """Return whether one is a range or a bound, and the other is inside it."""
        if (self.ends is None) != (other.ends is None):
            value, (low, high) = (self, other.ends) if other.ends else (other, self.ends or (0, 0))
            return any(low <= reading <= high for reading in value.readings)
        if bool(self.bound) == bool(other.bound):
            return False
        limit, value = (self, other) if self.bound else (other, self)
        pairs = product(limit.readings, value.readings)
        if len(limit.readings) == len(value.readings):  # 1,234 and 2,345: both with a comma
            pairs = zip(sorted(limit.readings), sorted(value.readings), strict=True)
        return any(limit._allows(one, two) for one, two in pairs)


def _is_within(one: float, two: float, apart: float) -> bool:
    return abs(one - two) <= apart * max(abs(one), abs(two))


class Unit(NamedTuple):
    """A unit: its dimension, such as `time`, and its size in the dimension's base unit."""

    dimension: str
    factor: float = 1.0


_UNITS = """
time 1 s sec secs second seconds sekunde sekunden seconde secondes segundo segundos secondo
time 1 secondi sekund sekunder секунд секунды секунда сек 秒 秒钟 秒間 วินาที giây detik saniye ثانية
time 1 ثواني सेकंड
time 0.001 ms millisecond milliseconds millisekunden milliseconde millisecondes
time 60 min mins minute minutes minuten minuto minutos minuti minuter minutter minuut minut minuty
time 60 минут минуты минута мин 分 分钟 分鐘 分間 นาที phút menit dakika دقيقة دقائق मिनट דקות perc
time 60 minuuttia
time 3600 h hr hrs hour hours stunde stunden std heure heures hora horas ora ore uur uren timmar
time 3600 timme timer godzin godziny godzina hodin hodiny час часа часов 小时 小時
time 3600 時間 ชั่วโมง giờ jam
time 3600 saat ساعة ساعات घंटे घंटा שעות tuntia óra
time 86400 day days tag tage tagen tages jour jours dia dias día días giorno giorni dag dagar
time 86400 dager dage dagen dni dzień день дня дней днів 天 วัน ngày hari gün يوم أيام दिन ימים
time 86400 päivää nap zile
time 604800 week weeks woche wochen semaine semaines semana semanas settimana settimane weken
time 604800 vecka veckor uke uker uge uger tydzień tygodnie tygodni неделя недели недель 周 週間
time 604800 สัปดาห์ tuần minggu hafta أسبوع أسابيع सप्ताह
months 1 month months monat monate monaten mois mes meses mês mese mesi maand maanden månad
months 1 månader måned måneder miesiąc miesiące miesięcy месяц месяца месяцев 个月
months 1 個月 ヶ月 か月 เดือน
months 1 tháng bulan ay شهر أشهر महीने
months 12 year years yr yrs jahr jahre jahren jahres an ans année années año años ano anos anno
months 12 anni jaar jaren år lat lata rok roku roky let год года лет рік років ปี năm tahun yıl
months 12 سنة سنوات साल वर्ष שנים vuotta év ani
months 120 decade decades jahrzehnt jahrzehnte década décadas décennie décennies
months 1200 century centuries jahrhundert jahrhunderte siècle siècles siglo siglos
length 0.001 mm millimetre millimetres millimeter millimeters millimètres milímetros 毫米
length 0.01 cm centimetre centimetres centimeter centimeters zentimeter centímetros 厘米
length 1 m metre metres meter meters mètre mètres metro metros metri метр метра метров 米
length 1000 km kilometre kilometres kilometer kilometers kilomètres kilómetros chilometri
length 1000 quilômetros км километров 公里 กิโลเมตร
length 0.0254 inch inches zoll pouces pulgadas polegadas pollici дюйм дюймов 英寸 นิ้ว
length 0.3048 ft foot feet
length 0.9144 yard yards
length 1609.344 mi mile miles meilen milles millas
mass 0.001 mg milligram milligrams milligramm
mass 1 g gram grams gramm grammes gramos grammi gramas г грамм 克 กรัม
mass 1000 kg kilo kilos kilogram kilograms kilogramm кг 公斤 千克 กิโลกรัม กก
mass 453.592 lb lbs
mass 28.3495 oz ounce ounces unzen
mass 1e+06 t ton tons tonne tonnes tonnen toneladas тонн
volume 0.001 ml millilitre millilitres milliliter milliliters
volume 1 l litre litres liter liters litro litros litri литр литра литров 升 ลิตร
volume 3.78541 gallon gallons
data 1000 kb kilobyte kilobytes
data 1e+06 mb megabyte megabytes
data 1e+09 gb gigabyte gigabytes гб
data 1e+12 tb terabyte terabytes
rate 1e+06 mbps mbit/s mb/s
rate 1e+09 gbps gbit/s gb/s
frequency 1 hz hertz
frequency 1000 khz
frequency 1e+06 mhz
frequency 1e+09 ghz
power 1 w watt watts вт
power 1000 kw kilowatt kilowatts
energy 1 wh
energy 1000 kwh
charge 1 mah
charge 1000 ah
voltage 1 v volt volts
current 1 amp amps ampere amperes
speed 1 km/h kmh kph км/ч
speed 1.609344 mph
resolution 1 mp megapixel megapixels mpx
sound 1 db decibel decibels dezibel
celsius 1 °c ℃ celsius
fahrenheit 1 °f ℉ fahrenheit
degrees 1 ° degree degrees grad degrés grados gradi graus градусов 度 องศา
percent 1 % ％ ٪ percent pct prozent pourcent porcento percento procent procenta процент процента
percent 1 процентов yüzde เปอร์เซ็นต์ persen प्रतिशत
dollars 1 $ usd us$ dollar dollars dólares 美元 ดอลลาร์
dollars 0.01 cent cents
euros 1 € eur euro euros
pounds 1 £ gbp pound pounds
yen 1 ¥ ￥ jpy yen 円
yuan 1 yuan rmb cny 元
rupees 1 ₹ inr rs rupee rupees रुपये
rubles 1 ₽ rub руб рублей рубля
dong 1 ₫ vnd đồng
won 1 ₩ krw 원
baht 1 ฿ thb บาท
francs 1 chf franken francs
"""
"""A dimension, a factor, and the names of units of that size."""
_TIMES = """
12 dozen dutzend douzaine docena dúzia
100 hundred hundert 百
1000 k thousand tausend tsd mille mil mila duizend tusen tys тыс тысяч тысячи 千 พัน nghìn ngàn
1000 ribu
10000 万 萬 หมื่น
100000 lakh lakhs แสน
1e+06 million millions mio mn millionen millón millones milhão milhões milione milioni miljoen
1e+06 miljoner mln млн миллион миллиона миллионов triệu juta milyon مليون ล้าน
1e+07 crore crores
1e+08 亿 億
1e+09 billion billions bn mrd milliarde milliarden milliard milliards miliardi miljard млрд
1e+09 миллиард миллиардов tỷ miliar milyar مليار
1e+12 trillion trillions
"""
"""A factor, and the words that multiply the number before them by it."""
_UNIT_ROWS = [line.split() for line in _UNITS.strip().splitlines()]
UNITS = {fold(name): Unit(row[0], float(row[1])) for row in _UNIT_ROWS for name in row[2:]}
IMPERIAL = frozenset(UNITS[name] for name in "inch ft yard mile lb oz gallon mph °f".split())
"""The units whose amounts are rounded in metric units."""
_TIMES_ROWS = [line.split() for line in _TIMES.strip().splitlines()]
TIMES = {fold(name): float(row[0]) for row in _TIMES_ROWS for name in row[1:]}
