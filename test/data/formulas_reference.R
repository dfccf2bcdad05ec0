# Random formulas, and what R's model.matrix() makes of them, for test/unit/formula_test.c.
#
#   Rscript test/data/formulas_reference.R 3000 1 > test/data/formulas.tsv
#
# The arguments are the number of formulas and a seed. Needs R 4 and its package splines. Each line has a formula, a
# hash of the names of the features, the number of features, and the sum of (j + 1) (i + 1) x[i, j] over rows i and
# features j, from 0 on, and the same sum of their sizes. Levels are called [1], [2] ... here, so that R's names are
# gpureg's; factor(k) and raw powers are renamed. A formula that R refuses, or whose numbers are not all finite, is left
# out. No bracket has a - a alone: R drops what an empty sum is crossed with, gpureg keeps it.

options(digits = 17, warn = -1)
arguments <- as.integer(commandArgs(TRUE))
count <- if (length(arguments) > 0) arguments[1] else 3000
set.seed(if (length(arguments) > 1) arguments[2] else 1)

n <- 12
i <- 0:(n - 1)
rows <- data.frame(y = (7 * i) %% 12 + 1, x = ((5 * i) %% 12 + 1) / 4, z = ((11 * i + 3) %% 13 + 2) / 8,
	w = ((3 * i + 1) %% 11 - 5) / 2, k = i %% 3 + 1,
	a = factor(paste0("[", i %% 2 + 1, "]")), b = factor(paste0("[", (i %/% 2) %% 3 + 1, "]")))

one <- function(...) sample(c(...), 1)
number <- function() one("1", "2", "0.5", ".25", "3", "1e2", "100000", "0.0001", "1.50", "1e-3", "12345678")
spaced <- function(operator) one(operator, paste0(" ", operator, " "))

arithmetic <- function(depth) {
	if (depth == 0) return(if (runif(1) < 0.7) one("x", "z", "w", "k") else number())
	switch(sample(6, 1),
		paste0(arithmetic(depth - 1), spaced(one("+", "-", "*", "/")), arithmetic(depth - 1)),
		paste0("(", arithmetic(depth - 1), ")"),
		paste0("-", arithmetic(depth - 1)),
		paste0(one("x", "z", "(x + 1)"), "^", one("2", "3", "-1", "0.5", "2^2")),
		call_of(depth - 1),
		arithmetic(0))
}

call_of <- function(depth) switch(sample(6, 1),
	paste0("log(", one("x", "z", "x + z", "k"), ")"),
	paste0(one("log2", "log10", "log1p", "sqrt"), "(", one("x", "z", "abs(w)+1"), ")"),
	paste0(one("exp", "expm1"), "(", one("x", "-z", "w/2"), ")"),
	paste0("abs(", one("w", "w - 1"), ")"),
	paste0("I(", arithmetic(depth), ")"),
	paste0("sqrt(x)"))

atom <- function() {
	draw <- runif(1)
	if (draw < 0.45) return(one("x", "z", "w", "a", "b", "k"))
	if (draw < 0.53) return("factor(k)")
	if (draw < 0.6) return(one("poly(x, 2)", "poly(z,3)"))
	call_of(sample(0:2, 1))
}

term <- function(depth) {
	draw <- runif(1)
	if (depth == 0 || draw < 0.4) return(atom())
	if (draw < 0.5) return(paste0("(", sum_of(depth - 1), ")"))
	if (draw < 0.57) return(paste0("(", sum_of(depth - 1), ")^", one("2", "3")))
	paste0(term(depth - 1), spaced(one(":", "*", "/", " %in% ", "*", ":")), term(depth - 1))
}

sum_of <- function(depth) {
	first <- text <- term(depth)
	for (k in seq_len(sample(0:2, 1))) {
		more <- term(depth)
		operator <- if (more == first) "+" else one("+", "+", "+", "-")
		text <- paste0(text, spaced(operator), more)
	}
	text
}

right_side <- function() paste0(one("", "", "", "", "0 + ", "1 + "), sum_of(2), one("", "", "", "", " - 1", " + 0",
	" + offset(log(x))"))

hash <- function(names) {
	h <- 0
	for (byte in as.integer(charToRaw(paste0(names, rep(" ", length(names)), collapse = ""))))
		h <- (h * 257 + byte) %% 2147483647
	h
}

made <- 0
while (made < count) {
	text <- paste0(one("y", "y", "y", "log(y)", "y/2", "I(y^2)", "sqrt( y )"), one("~", " ~ "), right_side())
	for_r <- gsub("poly\\((.),( ?)(.)\\)", "poly(\\1, \\3, raw = TRUE)", text)
	matrix <- try(model.matrix(as.formula(for_r), rows), silent = TRUE)
	if (inherits(matrix, "try-error") || nrow(matrix) != n || any(!is.finite(matrix)) || ncol(matrix) > 300) next
	names <- colnames(matrix)
	features <- matrix[, names != "(Intercept)", drop = FALSE]
	names <- gsub("factor\\(k\\)([123])", "k[\\1]", colnames(features))
	names <- gsub("poly\\((.), [23], raw = TRUE\\)1", "\\1", names)
	names <- gsub("poly\\((.), [23], raw = TRUE\\)([23])", "\\1^\\2", names)
	j <- seq_len(ncol(features))
	total <- if (ncol(features) == 0) 0 else sum(features * outer(i + 1, j))
	size <- if (ncol(features) == 0) 0 else sum(abs(features) * outer(i + 1, j))
	if (size > 1e15) next
	cat(text, hash(names), ncol(features), sprintf("%.17g", total), sprintf("%.17g", size), sep = "\t")
	cat("\n")
	made <- made + 1
}
