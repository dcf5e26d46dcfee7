"""Entry of the enzymes with their places in the hierarchy of functions."""

from __future__ import annotations

from palmette.datasets.entry import Dataset, text_source

EC_CLEAN_SPLIT10 = Dataset(
    name="ec-clean-split10",
    task="hierarchy",
    title="Enzymes of Swiss-Prot with EC numbers, clustered at 10 % identity",
    description=(
        "7,757 proteins of 2,702 EC numbers, paths of four levels (7 / 69 / 229 / 2,702 nodes); 510 have several.\n"
        "4,552 of them, with one complete number, at least 50 letters and at least 3 such proteins at their leaf, are\n"
        "split at random into 2,797 for training and 1,755 for testing (527 leaves; 49 test proteins have one that\n"
        "training has not). new392 and price149 are test sets of their own.\n"
        "Yu et al., Enzyme function prediction using contrastive learning, Science 2023; the repository has\n"
        "split10.csv, new.csv and price.csv.\n"
        "The files have no public address in this form and are to be put there by hand (plain, .gz or .xz):\n"
        "split10.tsv, new392.tsv and price149.tsv, tab-separated with a header line, columns entry, ec (numbers\n"
        "separated by ';'), sequence and, in split10.tsv, split ('train', 'test' or '-')."
    ),
    homepage="https://github.com/tttianhao/CLEAN",
    licence="UniProtKB/Swiss-Prot, CC BY 4.0; the licence of the repository does not mention its data",
    sources=(
        text_source(
            "split10", "4a20507fbefaeb5cf370cce19c19833ea72886fa4e08334449895a4591c51809", 3_663_327, "split10.tsv"
        ),
        text_source(
            "new392", "d1d2b08d7ec432fcc8dbbe02435fcd90348a2cab1e113b28cab5cea99a818d3c", 189_312, "new392.tsv"
        ),
        text_source(
            "price149", "719c90f57b17a68a3b8f44db1872c06343f02ae9cc7cb35c3f1dd2d5f2bdd079", 62_855, "price149.tsv"
        ),
    ),
)  # fmt: skip
