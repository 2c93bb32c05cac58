//! A column of names, each kept once.

use std::collections::HashMap;
use std::sync::Arc;

use arrow_array::types::Int32Type;
use arrow_array::{ArrayRef, DictionaryArray, Int32Array, StringArray};

use crate::table::column;

/// The names of a column, and the row's numbers of them.
#[derive(Default)]
pub struct Names {
    known: HashMap<String, i32>,
    names: Vec<String>,
    rows: Vec<i32>,
}

impl Names {
    /// The number of a name.
    pub fn number(&mut self, name: &str) -> i32 {
        if let Some(&number) = self.known.get(name) {
            return number;
        }
        let number = self.names.len() as i32;
        self.known.insert(name.to_owned(), number);
        self.names.push(name.to_owned());
        number
    }

    /// A row with the name of this number.
    pub fn push(&mut self, number: i32) {
        self.rows.push(number);
    }

    /// So many rows with this name.
    pub fn repeat(&mut self, name: &str, rows: usize) {
        let number = self.number(name);
        self.rows.resize(self.rows.len() + rows, number);
    }

    /// The column.
    pub fn column(self) -> ArrayRef {
        let names = Arc::new(StringArray::from(self.names));
        let numbers = Int32Array::from(self.rows);
        column(DictionaryArray::<Int32Type>::new(numbers, names))
    }
}

impl<'a> FromIterator<&'a str> for Names {
    fn from_iter<I: IntoIterator<Item = &'a str>>(all: I) -> Names {
        let mut names = Names::default();
        all.into_iter().for_each(|name| names.repeat(name, 1));
        names
    }
}
