# Writes the rows of iv_rows.csv, and compares R's AER with the fits of iv_fits.csv, which iv_reference.py makes from
# the rows:
#
#     Rscript test/data/iv_reference.R test/data          the rows
#     Rscript test/data/iv_reference.R test/data check    the largest relative difference of each case
#
# Needs R's AER. Sets: the demand for cigarettes of Stock and Watson (2007), Introduction to Econometrics, chapter 12;
# the wages of Mroz (1987), as in Wooldridge (2002), example 5.2; Longley's (NIST), whose columns are nearly collinear;
# and made ones: two endogenous regressors, far from 0, and weak instruments.
suppressMessages(library(AER))
folder <- commandArgs(TRUE)[1]

write_rows <- function() {
    lines <- "dataset,weight,y,x"
    add <- function(name, y, x, weight = NULL) {
        digits <- function(v) sprintf("%.17g", v)
        cells <- apply(as.matrix(x), 1, function(r) paste0("\"{", paste(digits(r), collapse = ","), "}\""))
        lines <<- c(lines, paste(name, if (is.null(weight)) "" else digits(weight), digits(y), cells, sep = ","))
    }
    data("CigarettesSW", envir = environment())
    d <- subset(CigarettesSW, year == 1995)
    add("cigarettes", log(d$packs), with(d, cbind(log(price / cpi), log(income / population / cpi),
                                                  (taxs - tax) / cpi, tax / cpi)))
    data("PSID1976", envir = environment())
    d <- subset(PSID1976, participation == "yes")
    add("mroz", log(d$wage), with(d, cbind(education, experience, experience^2, feducation, meducation)))
    d <- read.csv(file.path(folder, "nist/longley.csv"))
    add("longley", d[[1]], d[-1])
    set.seed(17)
    n <- 60
    z <- matrix(round(rnorm(4 * n), 3), n)
    w <- round(rnorm(n), 3)
    u <- round(rnorm(n), 3)
    e1 <- z %*% c(1, .5, 0, .2) + w + u + round(rnorm(n), 3)
    e2 <- z %*% c(0, .3, 1, -.4) - w - u + round(rnorm(n), 3)
    y <- 1 + 2 * e1 - e2 + w / 2 + u
    add("two", y, cbind(e1, e2, w, z))
    add("far", y + 1e9, cbind(e1 + 2e9, e2 - 3e8, w + 4096, z + 1e10))
    add("weighted", y, cbind(e1, e2, w, z), weight = sample(1:8, n, TRUE) / 4)
    weak <- z[, 1] / 1000 + u + w
    add("weak", 1 + weak / 2 + u, cbind(weak, w, z))
    writeLines(lines, file.path(folder, "iv_rows.csv"))
}

numbers <- function(text) as.integer(strsplit(gsub("[{}]", "", text), ",")[[1]])

check_case <- function(fits) {
    rows <- read.csv(file.path(folder, "iv_rows.csv"), colClasses = c(x = "character"))
    rows <- rows[rows$dataset == fits$dataset[1], ]
    x <- do.call(rbind, lapply(strsplit(gsub("[{}]", "", rows$x), ","), as.numeric))
    e <- numbers(fits$endogenous[1])
    q <- numbers(fits$instruments[1])
    w <- setdiff(seq_len(ncol(x)), c(e, q))
    one <- if (fits$intercept[1] == "t") matrix(1, nrow(x), 1) else NULL
    regressors <- cbind(one, x[, sort(c(w, e))])
    z <- cbind(one, x[, sort(c(w, q))])
    colnames(regressors) <- c(if (!is.null(one)) "one", paste0("x", sort(c(w, e))))
    colnames(z) <- c(if (!is.null(one)) "one", paste0("x", sort(c(w, q))))
    d <- data.frame(y = rows$y, regressors, z[, setdiff(colnames(z), colnames(regressors)), drop = FALSE])
    text <- function(names) paste(c(if (is.null(one)) "0", setdiff(names, "one")), collapse = " + ")
    m <- do.call(ivreg, c(list(as.formula(paste("y ~", text(colnames(regressors)), "|", text(colnames(z)))), data = d),
                          if (anyNA(rows$weight)) NULL else list(weights = rows$weight)))
    s <- try(summary(m, diagnostics = TRUE), silent = TRUE)
    if (inherits(s, "try-error") || anyNA(coef(m))) {
        cat(sprintf("%-24s too near to collinear for AER\n", fits$name[1]))
        return(invisible())
    }
    got <- c(coef(m), as.vector(t(vcov(m))), s$sigma, s$r.squared, s$adj.r.squared, as.vector(t(s$diagnostics[, 3:4])))
    want <- fits$value
    if (length(got) != length(want)) stop("case ", fits$name[1], ": ", length(got), " numbers, not ", length(want))
    ok <- !is.na(got) & !is.na(want)
    if (any(is.na(got) != is.na(want))) cat("missing: ", which(is.na(got) != is.na(want)), "\n")
    cat(sprintf("%-24s %.1e\n", fits$name[1], max(abs(got[ok] - want[ok]) / abs(want[ok]))))
}

if (length(commandArgs(TRUE)) == 1) write_rows() else {
    fits <- read.csv(file.path(folder, "iv_fits.csv"))
    for (name in unique(fits$name)) check_case(fits[fits$name == name, ])
}
