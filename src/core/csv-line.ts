/**
 * What spreadsheets take for a formula (OWASP, "CSV Injection"), full-width forms and space in front included: some
 * programs trim their cells.
 */
const FORMULA = /^(\s*[=+\-@＝＋－＠]|[\t\r\n])/u;

/** One record of CSV (RFC 4180). What a spreadsheet would run as a formula gets an apostrophe, which makes it text. */
export const csvLine = (cells: readonly string[]): string =>
  `${cells
    .map((cell) => (FORMULA.test(cell) ? `'${cell}` : cell))
    .map((cell) => (/[",;\t\r\n]/.test(cell) ? `"${cell.replaceAll('"', '""')}"` : cell))
    .join(',')}\r\n`;
