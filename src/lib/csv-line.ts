/**
 * What spreadsheets take for a formula (OWASP, "CSV Injection"), full-width forms included, and behind whatever is
 * blank or not seen at all: some programs trim their cells.
 */
const FORMULA = /^([\s\p{Cc}\p{Cf}\p{Default_Ignorable_Code_Point}]*[=+\-@＝＋－＠]|[\t\r\n])/u;

/** One record of CSV (RFC 4180). What a spreadsheet would run as a formula gets an apostrophe, which makes it text. */
export const csvLine = (cells: readonly string[]): string => `${cells.map(csvCell).join(',')}\r\n`;

const csvCell = (cell: string): string => {
  const text = FORMULA.test(cell) ? `'${cell}` : cell;
  return /[",;\t\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
};
