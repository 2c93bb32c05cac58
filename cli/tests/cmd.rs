//! Output of the commands, word for word, with exit codes.

#[test]
fn commands_print_what_is_written_down() {
    trycmd::TestCases::new().case("tests/cmd/*.trycmd");
}
