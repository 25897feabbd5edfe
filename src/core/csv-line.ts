/**
 * What spreadsheets take for a formula (OWASP, "CSV Injection"), full-width forms and space in front included: some
 * programs trim their cells.
 */
const FORMULA = /^(\s*[=+\-@＝＋－＠]|[\t\r\n])/u;

/** One record of CSV (RFC 4180). What a spreadsheet would run as a formula gets an apostrophe, which makes it text. */
export const csvLine = (cells: readonly string[]): string => `${cells.map(csvCell).join(',')}\r\n`;

const csvCell = (cell: string): string => {
  const text = FORMULA.test(cell) ? `'${cell}` : cell;
  return /[",;\t\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
};
