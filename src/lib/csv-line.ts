/**
 * Matches text that spreadsheets evaluate as a formula (OWASP, "CSV Injection"), including full-width forms, and after blank or invisible
 * characters, which some programs trim.
 */
const FORMULA = /^[\s\p{Cc}\p{Cf}\p{Default_Ignorable_Code_Point}]*[=+\-@＝＋－＠]/u;

/** A CSV record (RFC 4180). Formulas get a leading apostrophe, which makes them text. */
export const csvLine = (cells: readonly string[]): string => `${cells.map(csvCell).join(',')}\r\n`;

/** CSV records of some fields of objects. */
export const csvRecords = (objects: readonly Record<string, unknown>[], fields: readonly string[]): string =>
  objects.map((object) => csvLine(fields.map((field) => csvText(object[field])))).join('');

const csvCell = (cell: string): string => {
  const text = FORMULA.test(cell) || /^[\t\r\n]/.test(cell) ? `'${cell}` : cell;
  return /[",;\t\r\n]/.test(text) ? `"${withoutInnerFormulas(text).replaceAll('"', '""')}"` : text;
};

/**
 * Where numbers have a decimal comma, spreadsheets expect semicolons between cells. They recognize quotes only at the start of such a cell,
 * so a semicolon inside a quoted cell starts another cell.
 */
const withoutInnerFormulas = (text: string): string =>
  text
    .split(';')
    .map((part, index) => (index > 0 && FORMULA.test(part) ? `'${part}` : part))
    .join(';');

/** The text of a cell: strings are kept, null and undefined are empty, dates are ISO 8601, objects and arrays are JSON. */
export const csvText = (value: unknown): string => {
  if (typeof value === 'string') return value;
  if (value === null || value === undefined) return '';
  if (value instanceof Date) return value.toISOString();
  return typeof value === 'object' ? JSON.stringify(value) : String(value);
};
