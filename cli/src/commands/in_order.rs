//! Several things at once, with their results in order.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc;
use std::thread;

/// Runs so many items at once, and hands on their results in the order of the items, each as soon as those before it are there. After an
/// error of `take` no further item begins.
pub fn in_order<T: Sync, R: Send>(
    items: &[T],
    at_once: usize,
    run: impl Fn(&T) -> R + Sync,
    mut take: impl FnMut(R) -> anyhow::Result<()>,
) -> anyhow::Result<()> {
    let next = AtomicUsize::new(0);
    let (sender, results) = mpsc::channel();
    let worker = |sender: mpsc::Sender<(usize, R)>| {
        loop {
            let at = next.fetch_add(1, Ordering::Relaxed);
            let Some(item) = items.get(at) else { return };
            if sender.send((at, run(item))).is_err() {
                return;
            }
        }
    };
    thread::scope(|scope| {
        for _ in 0..at_once.min(items.len()) {
            let sender = sender.clone();
            scope.spawn(|| worker(sender));
        }
        drop(sender);
        let mut early = BTreeMap::new();
        let mut turn = 0;
        for (at, result) in results {
            early.insert(at, result);
            while let Some(result) = early.remove(&turn) {
                take(result)?;
                turn += 1;
            }
        }
        Ok(())
    })
}

#[cfg(test)]
mod tests {
    use std::sync::Barrier;
    use std::time::Duration;

    use super::*;

    #[test]
    fn results_come_in_the_order_of_the_items() {
        let both = Barrier::new(2);
        // The first two meet, so two run at once; the first ends last.
        let run = |&item: &u32| {
            if item < 2 {
                both.wait();
            }
            thread::sleep(Duration::from_millis(u64::from(20 * (3 - item.min(3)))));
            item * 10
        };
        let mut found = Vec::new();
        in_order(&[0, 1, 2, 3, 4], 2, run, |result| {
            found.push(result);
            Ok(())
        })
        .expect("no error");
        assert_eq!(found, [0, 10, 20, 30, 40]);
    }

    #[test]
    fn after_an_error_nothing_else_begins() {
        let begun = AtomicUsize::new(0);
        let run = |_: &usize| begun.fetch_add(1, Ordering::Relaxed);
        let items: Vec<usize> = (0..1000).collect();
        let slow = |item: &usize| {
            thread::sleep(Duration::from_millis(1));
            run(item)
        };
        assert!(in_order(&items, 2, slow, |_| anyhow::bail!("no")).is_err());
        assert!(begun.load(Ordering::Relaxed) < 1000);
    }
}
