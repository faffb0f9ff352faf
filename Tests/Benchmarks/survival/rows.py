"""The faults of each row of the table. In a row, the first round has no faults, and the last check has none."""

seed, rounds, usable = 39, 5, 3  # `usable`: the seconds after which a client regards a token as expired

rows = {
    "control": dict(title="one process at a time"),
    "five": dict(title="5 processes at once", parallel=5),
    "fifty": dict(title="50 processes at once", parallel=50, sessions=2, rounds=3),
    "kill": dict(title="SIGKILL", kill=0.3),
    "lost": dict(title="lost responses", lose=0.15),
    "down": dict(title="provider down", down=(2, 3)),
    "disk": dict(title="full disk", full=(2, 3)),
    "clock": dict(title="clock one hour back", back=(2, 3)),
    "all": dict(title="all together", parallel=5, kill=0.05, lose=0.03, down=(1,), full=(2,), back=(3,)),
}
