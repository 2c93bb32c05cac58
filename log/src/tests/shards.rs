//! Logs of several shards: each has a machine, which is verified.

use divvy_policy::Event;

use super::storm::{self, Random, all_records, shuffle};
use super::{Header, Record, Scratch, Verdict, check, log, schedule};

/// Three shards of five CPUs, each with its own events.
fn sharded() -> (Header, Vec<Record>) {
    let spec = "sfq@shards:size=2";
    let mut all = Vec::new();
    for (shard, cpus) in [2, 2, 1].into_iter().enumerate() {
        let (header, told) = storm::storm(spec, cpus, shard as u64, 2000);
        assert!(told.iter().any(|(event, ..)| matches!(event, Event::Carry { .. })));
        let records = all_records(&header, &told, 1).into_iter();
        all.extend(records.map(|record| Record { shard: shard as u8, ..record }));
    }
    shuffle(&mut all, 100, &mut Random(1));
    let header = Header {
        spec: spec.to_owned(),
        cpus: 5,
        pool: 16_383,
        quantum_ns: storm::QUANTUM_NS,
        shards: vec![2, 2, 1],
    };
    (header, all)
}

#[test]
fn each_shard_decides_as_it_did() {
    let (header, mut records) = sharded();
    let report = check(&log(&header, &records, 0)).unwrap();
    assert!(matches!(report.verdict, Verdict::Ok), "{:?}", report.verdict);
    assert_eq!(report.events, 6000);
    let dispatched = |record: &&mut Record| record.shard == 1 && record.kind == 6 && record.seq > 500;
    records.iter_mut().find(dispatched).unwrap().value += 1;
    let Verdict::Mismatch(found) = check(&log(&header, &records, 0)).unwrap().verdict else { panic!("none") };
    assert_eq!(found.told.shard, Some(1));
    assert!(found.told.to_string().starts_with("shard 1 "), "{}", found.told);
    assert!(found.before.iter().all(|told| told.shard == Some(1)));
}

/// The weights that modifiers make over all shards are told to each as the tasks' own (placement R7).
#[test]
fn shards_have_the_weights_that_they_are_told() {
    let (header, records) = sharded();
    let weighed = Header { spec: "sfq+procfair+feasible@shards:size=2".to_owned(), ..header };
    let report = check(&log(&weighed, &records, 0)).unwrap();
    assert!(matches!(report.verdict, Verdict::Ok), "{:?}", report.verdict);
}

#[test]
fn a_log_has_no_other_shards_than_its_header_says() {
    let (header, mut records) = sharded();
    for shards in [vec![5], vec![2, 2], vec![2, 2, 1, 0], vec![65, 0], vec![0; 65]] {
        let damaged = Header { shards, ..header.clone() };
        let said = check(&log(&damaged, &records, 0)).unwrap_err().to_string();
        assert!(said.contains("damaged header"), "{said}");
    }
    let one_queue = Header { spec: "sfq".to_owned(), ..header.clone() };
    let said = check(&log(&one_queue, &records, 0)).unwrap_err().to_string();
    assert!(said.contains("one queue"), "{said}");
    records[100].shard = 3;
    let said = check(&log(&header, &records, 0)).unwrap_err().to_string();
    assert!(said.contains("there is no shard 3"), "{said}");
    let (header, records) = sharded();
    let file = Scratch::new(&log(&header, &records, 0));
    let said = schedule(&file.0).unwrap_err().to_string();
    assert!(said.contains("several shards"), "{said}");
}
