#!/usr/bin/env python3
# codegen/cpu/minimax.py – the polynomials of math_*.cpp, by Remez' exchange algorithm
#
# Each row names a function g, the interval it is approximated on, the weight its error is measured
# with (so that the error of the whole formula is relative), and the degree for f32 and f64.
# Run: python3 minimax.py [name…]   (needs mpmath)
import struct
import sys

from mpmath import atan, atanh, asin, cos, digamma, erf, erfc, exp, expm1, findroot, log, loggamma
from mpmath import lu_solve, matrix, mp, mpf, pi, polyval, sin, sinh, sqrt, tan

mp.dps = 50


def remez(g, weight, low, high, degree, rounds=12):
    """Coefficients, lowest first, of the polynomial with the least largest weighted error."""
    n = degree + 2
    points = [(low + high) / 2 - (high - low) / 2 * cos(pi * (i + mpf(1) / 2) / n)
              for i in range(n)]
    grid = [(low + high) / 2 - (high - low) / 2 * cos(pi * (i + mpf(1) / 3) / (24 * n))
            for i in range(24 * n)]
    values = [(x, g(x), weight(x)) for x in grid]
    for _ in range(rounds):
        rows = matrix(n, n)
        right = matrix(n, 1)
        for i, x in enumerate(points):
            for j in range(degree + 1):
                rows[i, j] = x**j
            rows[i, n - 1] = (-1)**i / weight(x)
            right[i] = g(x)
        solution = lu_solve(rows, right)
        coefficients = [solution[i] for i in range(degree + 1)]
        descending = coefficients[::-1]
        errors = [(polyval(descending, x) - y) * w for x, y, w in values]
        # One extremum between each two changes of sign.
        extrema, best = [], 0
        for i, e in enumerate(errors):
            if i and (e > 0) != (errors[i - 1] > 0):
                extrema.append(best)
                best = i
            if abs(e) > abs(errors[best]):
                best = i
        extrema.append(best)
        if len(extrema) != n:
            break
        points = [values[i][0] for i in extrema]
    return coefficients, max(abs(e) for e in errors)


def at_zero(value):
    """A function of x with its limit at 0 filled in."""
    return lambda f: lambda x: value if abs(x) < mpf(10)**-20 else f(x)


r = log(2) / 2 * mpf("1.001")
s2 = ((sqrt(2) - 1) / (sqrt(2) + 1))**2 * mpf("1.001")
quarter = (pi / 4 * mpf("1.001"))**2
one = lambda z: mpf(1)
root = findroot(digamma, mpf("1.46"))


def scaled_erfc(t, k):
    """(1 + 2a) e^(a^2) erfc(a) - 1 with a = k (1+t)/(1-t)."""
    a = k * (1 + t) / (1 - t)
    return (1 + 2 * a) * exp(a * a) * erfc(a) - 1


def normal_tail(t, k):
    """(a+k) e^(a^2/2) erfc(a/sqrt(2))/2 with a = k (1+t)/(1-t)."""
    a = k * (1 + t) / (1 - t)
    return (a + k) * exp(a * a / 2) * erfc(a / sqrt(2)) / 2


# name: (g, weight, low, high, degree f32, degree f64)
TABLE = {
    # e^r = 1 + r + r^2 g(r)
    "exp": (at_zero(mpf(1) / 2)(lambda x: (expm1(x) - x) / x**2),
            lambda x: x**2 / exp(x) + mpf(10)**-9, -r, r, 4, 9),
    # the same of what a table of 16 powers leaves
    "exp_table": (at_zero(mpf(1) / 2)(lambda x: (expm1(x) - x) / x**2),
                  lambda x: x**2 / exp(x) + mpf(10)**-9, -r / 16, r / 16, 1, 4),
    # log((1+s)/(1-s)) = 2s + s z g(z), z = s^2
    "log": (at_zero(mpf(2) / 3)(lambda z: (2 * atanh(sqrt(z)) / sqrt(z) - 2) / z),
            lambda z: z + mpf(10)**-9, mpf(0), s2, 2, 6),
    # the same less its first term: … = 2s + s z (2/3 + z g(z))
    "log_tail": (at_zero(mpf(2) / 5)(
        lambda z: ((2 * atanh(sqrt(z)) / sqrt(z) - 2) / z - mpf(2) / 3) / z),
        lambda z: z**2 + mpf(10)**-9, mpf(0), s2, 2, 7),
    # sin r = r + r z g(z), z = r^2
    "sin": (at_zero(mpf(-1) / 6)(lambda z: (sin(sqrt(z)) / sqrt(z) - 1) / z),
            lambda z: z + mpf(10)**-9, mpf(0), quarter, 2, 5),
    # cos r = 1 - z/2 + z^2 g(z)
    "cos": (at_zero(mpf(1) / 24)(lambda z: (cos(sqrt(z)) - 1 + z / 2) / z**2),
            lambda z: z**2 + mpf(10)**-9, mpf(0), quarter, 2, 5),
    # atan t = t + t z g(z), z = t^2, |t| <= tan(pi/8)
    "atan": (at_zero(mpf(-1) / 3)(lambda z: (atan(sqrt(z)) / sqrt(z) - 1) / z),
             lambda z: z + mpf(10)**-9, mpf(0), tan(pi / 8)**2 * mpf("1.001"), 4, 10),
    # asin x = x + x z g(z), z = x^2 <= 1/4
    "asin": (at_zero(mpf(1) / 6)(lambda z: (asin(sqrt(z)) / sqrt(z) - 1) / z),
             lambda z: z + mpf(10)**-9, mpf(0), mpf("0.2501"), 4, 12),
    # sinh x = x + x z g(z), z = x^2 <= 1
    "sinh": (at_zero(mpf(1) / 6)(lambda z: (sinh(sqrt(z)) / sqrt(z) - 1) / z),
             lambda z: z + mpf(10)**-9, mpf(0), mpf("1.001"), 3, 6),
    # erf x = x g(z), z = x^2 <= 1
    "erf": (at_zero(2 / sqrt(pi))(lambda z: erf(sqrt(z)) / sqrt(z)),
            one, mpf(0), mpf("1.001"), 6, 12),
    # erfc x = exp(-g(x)), 1 <= x; what matters is the error of 1 - erfc x
    "erfc_f32": (lambda x: -log(erfc(x)), lambda x: erfc(x), mpf("0.999"), mpf("4"), 7, None),
    "erfc_f64": (lambda x: -log(erfc(x)), lambda x: erfc(x), mpf("0.999"), mpf("6"), None, 20),
    # (1 + 2a) e^(a^2) erfc(a) = 1 + g(t), t = (a-k)/(a+k), to where erfc is 0
    "scaled_erfc_f32": (lambda t: scaled_erfc(t, 2), lambda t: 1 / (1 + scaled_erfc(t, 2)),
                        mpf(-1), mpf("0.67"), 9, None),
    "scaled_erfc_f64": (lambda t: scaled_erfc(t, 4), lambda t: 1 / (1 + scaled_erfc(t, 4)),
                        mpf(-1), mpf("0.75"), None, 21),
    # (a+k) e^(a^2/2) erfc(a/sqrt(2))/2 = g(t), t = (a-k)/(a+k), to where gelu is 0
    "gelu_f32": (lambda t: normal_tail(t, mpf("3.75")), lambda t: 1 / normal_tail(t, mpf("3.75")),
                 mpf(-1), mpf("0.588"), 8, None),
    "gelu_f64": (lambda t: normal_tail(t, mpf(4)), lambda t: 1 / normal_tail(t, mpf(4)),
                 mpf(-1), mpf("0.8124"), None, 21),
    # lgamma(2 + u) = u g(u), |u| <= 1/2
    "lgamma": (at_zero(1 - mp.euler)(lambda u: loggamma(2 + u) / u),
               lambda u: 1 / (at_zero(1 - mp.euler)(lambda v: loggamma(2 + v) / v)(u)),
               mpf("-0.5001"), mpf("0.5001"), None, 17),
    # lgamma x = (x - 1/2) log x - x + log(2 pi)/2 + g(z)/x, z = 1/x^2, x >= 8
    "stirling": (lambda z: (loggamma(1 / sqrt(z)) - (1 / sqrt(z) - mpf(1) / 2) * log(1 / sqrt(z))
                            + 1 / sqrt(z) - log(2 * pi) / 2) / sqrt(z), one,
                 mpf(10)**-8, mpf(1) / 64, None, 6),
    # digamma x = (x - root) g(x - 3/2), 1 <= x <= 2
    "digamma": (lambda u: digamma(mpf("1.5") + u) / (mpf("1.5") + u - root),
                lambda u: (mpf("1.5") + u - root) / digamma(mpf("1.5") + u),
                mpf("-0.5001"), mpf("0.5001"), None, 21),
    # digamma x = log x - 1/(2x) - z g(z), z = 1/x^2, x >= 8
    "digamma_tail": (lambda z: (log(1 / sqrt(z)) - sqrt(z) / 2 - digamma(1 / sqrt(z))) / z, one,
                     mpf(10)**-8, mpf(1) / 64, None, 6),
}


def rounded(x, single):
    return struct.unpack("f", struct.pack("f", float(x)))[0] if single else float(x)


for name, (g, weight, low, high, degree32, degree64) in TABLE.items():
    if len(sys.argv) > 1 and name not in sys.argv[1:]:
        continue
    for single, degree in ((True, degree32), (False, degree64)):
        if degree is None:
            continue
        coefficients, error = remez(g, weight, low, high, degree)
        text = ", ".join(f"{rounded(c, single):.{9 if single else 17}g}" for c in coefficients)
        print(f"{name} {'f32' if single else 'f64'} error {float(error):.2g}\n    {{{text}}}")
