//! A finished result as Parquet, made from its CSV, so that a run and a merge of shards give the same bytes.

use std::sync::Arc;

use parquet::basic::{ConvertedType, LogicalType, Repetition, Type as Physical};
use parquet::data_type::{ByteArray, ByteArrayType, DoubleType, Int64Type};
use parquet::errors::ParquetError;
use parquet::file::properties::WriterProperties;
use parquet::file::writer::{SerializedFileWriter, SerializedRowGroupWriter};
use parquet::schema::types::{Type, TypePtr};

use super::measure::MEASURES;
use divvy_results::csv::records;

/// The type of a column; an empty field is null.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    /// Counts and times in nanoseconds, up to 2^64.
    Unsigned,
    Signed,
    Number,
    Text,
}

/// The file's bytes.
///
/// # Errors
/// If the columns cannot be written.
pub fn write(csv: &str) -> Result<Vec<u8>, ParquetError> {
    let records = records(csv);
    let (head, rows) = records.split_first().ok_or_else(|| ParquetError::General("no header".to_owned()))?;
    let column = |i: usize| rows.iter().map(|row| row.fields.get(i).map_or("", String::as_str)).collect();
    let columns: Vec<Vec<&str>> = (0..head.fields.len()).map(column).collect();
    let kinds: Vec<Kind> =
        head.fields.iter().zip(&columns).map(|(name, values)| kind(name, values)).collect();
    let fields = head.fields.iter().zip(&kinds).map(|(name, kind)| field(name, *kind).map(Arc::new));
    let fields: Vec<TypePtr> = fields.collect::<Result<_, _>>()?;
    let schema = Arc::new(Type::group_type_builder("sweep").with_fields(fields).build()?);
    let properties = Arc::new(WriterProperties::builder().build());
    let mut writer = SerializedFileWriter::new(Vec::new(), schema, properties)?;
    let mut group = writer.next_row_group()?;
    for (kind, values) in kinds.iter().zip(&columns) {
        write_column(&mut group, *kind, values)?;
    }
    group.close()?;
    writer.into_inner()
}

/// By the name where that says it, else what all its values are.
fn kind(name: &str, values: &[&str]) -> Kind {
    const COUNTS: [&str; 8] = ["point", "points", "cpus", "seed", "reps", "warm_up_ns", "counted_ns", "jobs"];
    let is_measure = MEASURES.iter().any(|measure| name.starts_with(measure.name));
    let given = || values.iter().filter(|value| !value.is_empty());
    match name {
        _ if COUNTS.contains(&name) => Kind::Unsigned,
        "sweep" | "workload" | "policy" | "task" | "baseline" => Kind::Text,
        _ if is_measure => Kind::Number,
        _ if name.ends_with("_ns") && given().all(|value| value.parse::<i64>().is_ok()) => Kind::Signed,
        _ if given().all(|value| value.parse::<f64>().is_ok()) => Kind::Number,
        _ => Kind::Text,
    }
}

fn field(name: &str, kind: Kind) -> Result<Type, ParquetError> {
    let physical = match kind {
        Kind::Unsigned | Kind::Signed => Physical::INT64,
        Kind::Number => Physical::DOUBLE,
        Kind::Text => Physical::BYTE_ARRAY,
    };
    let logical = match kind {
        Kind::Unsigned => Some(LogicalType::integer(64, false)),
        Kind::Text => Some(LogicalType::String),
        Kind::Signed | Kind::Number => None,
    };
    let builder = Type::primitive_type_builder(name, physical).with_repetition(Repetition::OPTIONAL);
    match logical {
        Some(logical) => builder.with_logical_type(Some(logical)).build(),
        None => builder.with_converted_type(ConvertedType::NONE).build(),
    }
}

fn write_column(
    group: &mut SerializedRowGroupWriter<'_, Vec<u8>>,
    kind: Kind,
    values: &[&str],
) -> Result<(), ParquetError> {
    // A definition level of 0 is null.
    let levels: Vec<i16> = values.iter().map(|value| i16::from(!value.is_empty())).collect();
    let given = || values.iter().filter(|value| !value.is_empty());
    let bad = |value: &str| ParquetError::General(format!("`{value}` is no number"));
    let mut column =
        group.next_column()?.ok_or_else(|| ParquetError::General("too few columns".to_owned()))?;
    match kind {
        Kind::Unsigned => {
            let of = |value: &&str| value.parse::<u64>().map(u64::cast_signed).map_err(|_| bad(value));
            let values = given().map(of).collect::<Result<Vec<i64>, _>>()?;
            column.typed::<Int64Type>().write_batch(&values, Some(&levels), None)?;
        }
        Kind::Signed => {
            let values = given()
                .map(|value| value.parse().map_err(|_| bad(value)))
                .collect::<Result<Vec<i64>, _>>()?;
            column.typed::<Int64Type>().write_batch(&values, Some(&levels), None)?;
        }
        Kind::Number => {
            let values = given()
                .map(|value| value.parse().map_err(|_| bad(value)))
                .collect::<Result<Vec<f64>, _>>()?;
            column.typed::<DoubleType>().write_batch(&values, Some(&levels), None)?;
        }
        Kind::Text => {
            let values: Vec<ByteArray> = given().map(|value| ByteArray::from(*value)).collect();
            column.typed::<ByteArrayType>().write_batch(&values, Some(&levels), None)?;
        }
    }
    column.close()
}

#[cfg(test)]
mod tests {
    use parquet::file::reader::{FileReader as _, SerializedFileReader};
    use parquet::record::RowAccessor as _;

    use super::*;

    #[test]
    fn what_is_written_is_read() {
        let csv = "point,policy,alpha,quantum_ns,mode,jobs,response_mean_ns\r\n\
                   1,pbs,0.5,1000000,on,18446744073709551615,1.5\r\n2,rr,,,off,7,\r\n3,pbs,inf,-5,on,8,2\r\n";
        let bytes = write(csv).unwrap();
        assert_eq!(bytes, write(csv).unwrap());
        let reader = SerializedFileReader::new(bytes::Bytes::from(bytes)).unwrap();
        let rows: Vec<_> = reader.get_row_iter(None).unwrap().map(Result::unwrap).collect();
        assert_eq!(rows.len(), 3);
        assert_eq!((rows[0].get_ulong(0).unwrap(), rows[0].get_string(1).unwrap().as_str()), (1, "pbs"));
        assert_eq!((rows[0].get_double(2).unwrap(), rows[2].get_double(2).unwrap()), (0.5, f64::INFINITY));
        assert_eq!((rows[0].get_long(3).unwrap(), rows[2].get_long(3).unwrap()), (1_000_000, -5));
        assert_eq!(rows[0].get_ulong(5).unwrap(), u64::MAX);
        assert!(rows[1].get_double(2).is_err() && rows[1].get_double(6).is_err(), "absent is null");
    }

    /// Text columns are null in rows of all tasks, and in rows that are not differences.
    #[test]
    fn whose_numbers_they_are_is_text_even_if_it_is_never_said() {
        let bytes = write("policy,task,baseline\r\nrr,,\r\n").unwrap();
        let reader = SerializedFileReader::new(bytes::Bytes::from(bytes)).unwrap();
        let columns = reader.metadata().file_metadata().schema_descr().columns();
        assert!(columns.iter().all(|column| column.physical_type() == Physical::BYTE_ARRAY));
    }
}
