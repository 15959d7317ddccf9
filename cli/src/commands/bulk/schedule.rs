//! The schedule of a job: daily caps, rates for domains, and a time window.

use idempost_bulk::Schedule;

use crate::input::flags::Flags;

// The flags of a schedule; no doc comment, which would replace the command's own.
#[derive(Debug, clap::Args)]
#[group(skip)]
#[command(next_help_heading = "Schedule")]
pub(super) struct ScheduleArgs {
    /// Maximum number of emails on the first, second, third… day of sending; the last value applies to all later days
    ///
    /// `--daily 50,100,200` warms up a domain. The caps hold across restarts: an email counts on the day of its first attempt, and again on the
    /// day of a later one. The job waits for the next day; if you interrupt it, resume it then.
    #[arg(long, value_name = "N,N,…")]
    daily: Option<String>,
    /// Time window for sending, such as 08:00-20:00; may span midnight
    #[arg(long, value_name = "FROM-TO")]
    window: Option<String>,
    /// Maximum number of emails to recipients at a domain per s, min, h or day, such as gmail.com=100/min; repeatable
    ///
    /// In any period of this length, however often the job is interrupted. An email counts if one of its recipients is at the domain. A request
    /// waits until all of its emails may be sent, and has no more emails than the smallest of these numbers.
    #[arg(long, value_name = "DOMAIN=N/PERIOD")]
    domain_rate: Vec<String>,
    /// Time zone of --daily and --window, such as Europe/Berlin [default: the system's]
    #[arg(long, value_name = "ZONE")]
    time_zone: Option<String>,
}

impl ScheduleArgs {
    /// Validates the flags; problems are added to the others of the command line. `None` leaves the job's schedule unchanged.
    pub(super) fn read(&self, is_distributed: bool, flags: &mut Flags) -> Option<Schedule> {
        let mut schedule: Option<Schedule> = None;
        let given = [("--daily", &self.daily), ("--window", &self.window), ("--time-zone", &self.time_zone)];
        let given = given.into_iter().filter_map(|(flag, value)| Some((flag, 1, value.as_deref()?)));
        let rates = self.domain_rate.iter().zip(1..).map(|(rate, n)| ("--domain-rate", n, rate.as_str()));
        for (flag, n, value) in given.chain(rates) {
            let mut reject = |code, rule| flags.reject_nth(code, rule, flag, n, value);
            if is_distributed {
                reject("exclusive", format!("{flag} can't be used with --queue"));
            }
            let before = schedule.unwrap_or_default();
            let read = match flag {
                // A value that isn't a number is an invalid cap.
                "--daily" => {
                    before.clone().daily(value.split(',').map(|cap| cap.trim().parse().unwrap_or(0)))
                }
                "--window" => before.clone().window(value),
                "--time-zone" => before.clone().time_zone(value),
                _ => before.clone().domain_rate(value),
            };
            if let Err(problem) = &read {
                reject(problem.code, format!("{flag}: {}", problem.message));
            }
            schedule = Some(read.unwrap_or(before));
        }
        if let (Some(zone), None, None) = (&self.time_zone, &self.daily, &self.window) {
            flags.reject("required", "--time-zone requires --daily or --window", "--time-zone", zone);
        }
        schedule
    }
}
