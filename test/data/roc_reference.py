#!/usr/bin/env python3
"""Prints reference values that the SQL of the test roc contains.

      python3 test/data/roc_reference.py

Needs scikit-learn and numpy. The scores are mtcars' mpg for am, quotients of mpg as probabilities, and diamonds'
-price / carat for the cut Ideal. R's pROC gives the same curves: test/data/roc_reference.R.
"""
import csv
import gzip
import pathlib

import numpy as np
from sklearn import metrics
from sklearn.calibration import calibration_curve

HERE = pathlib.Path(__file__).parent


def show(what, *values):
    print(f"{what:32}", *(f"{v:.17g}" for v in values))




def score(name, label, value):
    fpr, tpr, thresholds = metrics.roc_curve(label, value, drop_intermediate=False)
    show(name + " roc", len(thresholds), fpr.sum(), tpr.sum(), (fpr * tpr).sum(), np.max(tpr - fpr))


def probabilities(name, label, p):
    show(name + " log_loss", metrics.log_loss(label, p))
    for strategy in ("quantile", "uniform"):
        observed, predicted = calibration_curve(label, p, n_bins=10, strategy=strategy)
        show(f"{name} {strategy}", len(observed), *observed, *predicted)
    predicted = p >= 0.5
    tn, fp, fn, tp = metrics.confusion_matrix(label, predicted).ravel()
    show(name + " confusion", tp, fp, tn, fn, metrics.accuracy_score(label, predicted),
         metrics.f1_score(label, predicted), metrics.balanced_accuracy_score(label, predicted),
         metrics.cohen_kappa_score(label, predicted), metrics.matthews_corrcoef(label, predicted))


def main():
    mpg = np.array([21, 21, 22.8, 21.4, 18.7, 18.1, 14.3, 24.4, 22.8, 19.2, 17.8, 16.4, 17.3, 15.2, 10.4, 10.4, 14.7,
                    32.4, 30.4, 33.9, 21.5, 15.5, 15.2, 13.3, 19.2, 27.3, 26, 30.4, 15.8, 19.7, 15, 21.4])
    am = np.array([1, 1, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 1, 1, 0, 0, 0, 0, 0, 1, 1, 1, 1, 1, 1, 1])
    score("mtcars", am, mpg)
    probabilities("mtcars", am, mpg / 40)
    with gzip.open(HERE / "diamonds.csv.gz", "rt") as file:
        rows = list(csv.DictReader(file))
    ideal = np.array([row["cut"] == "Ideal" for row in rows], int)
    value = np.array([-float(row["price"]) / float(row["carat"]) for row in rows])
    score("diamonds", ideal, value)
    probabilities("diamonds", ideal, 1 - 1 / (1 + np.exp(value / 5000 + 0.6)))


main()
