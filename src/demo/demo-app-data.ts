/** Sample data of the demo apps. A real app would ask its database for the rows that the person may see. */

/** By column; the columns are the same in all rows of a table. */
export type Row = Record<string, string | number>;

/** Slug of the app, then a table with a line of column names. */
const TABLES: Record<string, string> = {
  sales: `
    region,product,revenue
    North,Bicycles,120400
    North,Helmets,18250
    North,Trailers,30900
    South,Bicycles,87900
    South,Helmets,14100
    South,Locks,9400
    West,Bicycles,64300
    West,Trailers,45100
    West,Locks,12800
    East,Bicycles,71600
    East,Helmets,11900`,
  churn: `
    region,reason,customers
    North,Price,14
    North,Moved away,6
    South,Price,22
    South,Service,9
    West,Price,11
    West,Competitor,8
    East,Service,13`,
  forecast: `
    region,quarter,revenue
    North,Q1,176000
    North,Q2,188000
    South,Q1,118000
    South,Q2,124000
    West,Q1,129000
    East,Q1,92000`,
  pricing: `
    region,product,price
    North,Bicycles,749
    North,Helmets,59
    South,Bicycles,719
    South,Locks,34
    West,Bicycles,749
    East,Bicycles,699`,
  fleet: `
    region,vehicle,idle hours
    North,Van 11,38
    North,Van 12,52
    South,Truck 3,17
    South,Truck 4,61
    West,Van 27,44
    East,Truck 9,29`,
  charging: `
    region,station,kWh
    North,Depot A,4120
    South,Depot C,2870
    West,Depot D,3340
    East,Depot F,1950`,
  warehouse: `
    region,article,stock
    North,Tyres,310
    South,Tyres,185
    West,Batteries,92
    East,Batteries,140`,
  orders: `
    region,month,orders
    North,September,1840
    North,October,1985
    South,September,1120
    South,October,1204
    West,October,940
    East,October,1377`,
  suppliers: `
    region,supplier,late deliveries
    North,Fjord Foods,4
    South,Sol Exports,11
    West,Atlantic Fish,7
    East,Danube Mills,2`,
};

const DEFAULT_TABLE = `
    region,count
    North,12
    South,9
    West,15
    East,7`;

const parseTable = (text: string): Row[] => {
  const [columns = [], ...lines] = text
    .trim()
    .split('\n')
    .map((line) => line.trim().split(','));
  return lines.map((cells) =>
    Object.fromEntries(columns.map((column, index) => [column, parseCell(cells[index] ?? '')])),
  );
};

const parseCell = (cell: string): string | number => (/^\d+$/.test(cell) ? Number(cell) : cell);

export const rowsOf = (slug: string): Row[] =>
  parseTable((Object.hasOwn(TABLES, slug) && TABLES[slug]) || DEFAULT_TABLE);

/**
 * The rows that data permissions allow: `{ "region": ["North"] }` allows those whose region is North. Null allows all rows. A
 * column that the table does not have allows none: an app must not ignore a restriction that it does not understand.
 */
export const permittedRows = (rows: readonly Row[], permissions: Record<string, unknown> | null): Row[] =>
  rows.filter((row) =>
    Object.entries(permissions ?? {}).every(
      ([column, values]) => Object.hasOwn(row, column) && [values].flat().includes(row[column]),
    ),
  );
