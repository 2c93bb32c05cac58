//! What the commands print, word for word; exit codes included.

#[test]
fn commands_print_what_is_written_down() {
    trycmd::TestCases::new().case("tests/cmd/*.trycmd");
}
