from ragstone.results.stats.intervals import Share


def test_a_share_is_told_with_its_interval() -> None:
    share = Share(12, 20)
    assert (share.seen, share.interval) == ("12 of 20 (60%)", "36% to 81%")
    assert str(share) == "12 of 20 (60%, 95% interval 36% to 81%)"
    assert Share(1500, 1500).seen == "1,500 of 1,500 (100%)"
