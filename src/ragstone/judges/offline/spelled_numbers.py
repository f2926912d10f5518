"""Numbers in words, in several languages."""

from types import MappingProxyType

from ragstone.judges.offline.words import fold

_SPELLED: tuple[tuple[float, str], ...] = (
    (2, "two zwei deux dos due twee två dwa два две двух iki dua tweede"),
    (3, "three drei trois tres três tre drie trzy три трех üç tiga"),
    (4, "four vier quatre cuatro quatro quattro fyra fire cztery четыре dört empat"),
    (5, "five fünf cinq cinco cinque vijf fem pięć пять beş lima"),
    (6, "six sechs sei zes sex sześć шесть altı enam"),
    (7, "seven sieben sept siete sete sette zeven sju siedem семь yedi tujuh"),
    (8, "eight acht huit ocho oito otto åtta osiem восемь sekiz delapan"),
    (9, "nine neun neuf nueve nove negen nio dziewięć девять dokuz sembilan"),
    (10, "ten zehn dix diez dez dieci tien tio dziesięć десять sepuluh"),
    (11, "eleven elf onze once undici"),
    (12, "twelve zwölf douze doce doze dodici twaalf tolv dwanaście двенадцать"),
    (13, "thirteen dreizehn treize trece treze tredici"),
    (14, "fourteen vierzehn quatorze catorce quattordici"),
    (15, "fifteen fünfzehn quinze quince quindici vijftien"),
    (16, "sixteen sechzehn"),
    (17, "seventeen siebzehn"),
    (18, "eighteen achtzehn"),
    (19, "nineteen neunzehn"),
    (20, "twenty zwanzig vingt veinte vinte venti twintig tjugo dwadzieścia двадцать"),
    (30, "thirty dreißig trente treinta trinta trenta dertig trettio trzydzieści тридцать"),
    (40, "forty vierzig quarante cuarenta quarenta quaranta veertig czterdzieści сорок"),
    (50, "fifty fünfzig cinquante cincuenta cinquenta cinquanta vijftig пятьдесят"),
    (60, "sixty sechzig soixante sesenta sessenta sessanta zestig шестьдесят"),
    (70, "seventy siebzig setenta settanta zeventig"),
    (80, "eighty achtzig ochenta oitenta ottanta tachtig"),
    (90, "ninety neunzig noventa novanta negentig"),
)
SPELLED = MappingProxyType(
    {fold(name): value for value, names in _SPELLED for name in names.split()}
)
"""Numbers in words. `one` is missing because most languages write their article so."""
