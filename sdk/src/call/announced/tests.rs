use super::*;

fn headers(pairs: &[(&'static str, &str)]) -> HeaderMap {
    pairs.iter().map(|(name, value)| (name.parse().unwrap(), value.parse().unwrap())).collect()
}

#[test]
fn announced_limits_are_parsed_in_every_form() {
    // B-12
    let read = |pairs: &[(&'static str, &str)]| {
        AnnouncedLimit::from_headers(&headers(pairs))
            .map(|limit| (limit.requests(), limit.window().as_secs()))
    };
    let policy = |text: &str| read(&[("ratelimit-policy", text)]);
    for (text, window) in [
        ("10;w=1", (10, 1)),
        (" 10 ; w=1 ", (10, 1)),
        ("10;w=60;burst=20;comment=\"a;w=9, b\"", (10, 60)),
        ("\"default\";q=10;w=1", (10, 1)),
        ("\"a, b;w=7\";w=2;q=10", (10, 2)),
        ("\"default\";q=10;w=1;qu=\"requests\"", (10, 1)),
        ("\"size\";q=5;w=1;qu=\"content-bytes\", \"count\";q=10;w=1", (10, 1)),
        ("10;w=1, 50;w=10", (50, 10)),
        ("5;w=1, 60;w=10", (5, 1)),
        ("10;w=1, 1000;w=3600", (10, 1)),
        ("10;w=60", (10, 60)),
        ("4294967295;w=1", (u32::MAX, 1)),
        ("x, 10;w=1", (10, 1)),
    ] {
        assert_eq!(policy(text), Some(window), "{text}");
    }
    for text in [
        "",
        ";",
        ",",
        "x",
        "-1",
        "0;w=1",
        "5;w=0",
        "5",
        "5;w=",
        "5;w=x",
        "w=1",
        "5;w=-1",
        "5;w=1.5",
        "1e3;w=1",
        "4294967296;w=1",
        "10;w=99999999999999999999",
        ";;;w=x",
        "\"default\";w=1",
        "\"default\";q=10",
        "\"default\";q=0;w=1",
        "\"open",
        "NaN;w=NaN",
        "5;w=61",
        "5;w=86400",
    ] {
        assert_eq!(policy(text), None, "{text}");
    }
    let mut lines = headers(&[("ratelimit-policy", "10;w=1")]);
    lines.append("ratelimit-policy", "20;w=10".parse().unwrap());
    assert_eq!(AnnouncedLimit::from_headers(&lines), Some(AnnouncedLimit { requests: 20, seconds: 10 }));
    // Without a readable policy, the limit is per second; next to a quota's policy, it is that quota.
    assert_eq!(read(&[("ratelimit-limit", " 7 ")]), Some((7, 1)));
    assert_eq!(read(&[("ratelimit-limit", "7"), ("ratelimit-policy", "x")]), Some((7, 1)));
    assert_eq!(read(&[("ratelimit-limit", "7"), ("ratelimit-policy", "9;w=1")]), Some((9, 1)));
    assert_eq!(read(&[("ratelimit-limit", "7"), ("ratelimit-policy", "7;w=3600")]), None);
    for text in ["", "0", "-5", "abc", "1.5", "1e400", "99999999999999999999"] {
        assert_eq!(read(&[("ratelimit-limit", text)]), None, "{text}");
    }
}

#[test]
fn the_reset_is_read_only_if_the_window_is_used_up() {
    // B-12
    let read = |remaining, reset| {
        let headers = headers(&[("ratelimit-remaining", remaining), ("ratelimit-reset", reset)]);
        AnnouncedLimit::reset_if_exhausted(&headers).map(|reset| reset.as_secs())
    };
    assert_eq!(read("0", "7"), Some(7));
    for (remaining, reset) in [("1", "7"), ("", "7"), ("0", ""), ("0", "-1"), ("0", "99999999999999999999")] {
        assert_eq!(read(remaining, reset), None, "{remaining} {reset}");
    }
}
