import type { CompiledQuery } from 'kysely';
import pg from 'pg';
import { serialize } from 'pg-protocol';

/** What a statement is prepared as. */
export type Prepared = {
  name: string;
  /** Whether its text has been sent. */
  isSent: boolean;
  /** How its rows are read, once it has run; null where it has none. */
  readRow: ReadRow | null | undefined;
};
type ReadRow = (fields: (string | null)[]) => object;
type Step = { statement: CompiledQuery; prepared: Prepared };
type Callback = (error: Error | null, rows: object[][]) => void;

type Field = { name: string; dataTypeID: number };
type Value = string | Buffer | null;

/** Of `pg`, which has no type for it. */
const { prepareValue } = (pg as unknown as { utils: { prepareValue: (value: unknown) => Value } }).utils;

/**
 * Several statements in one write, and one answer to all of them: what comes after one that fails is not run. `pg` sends each
 * when the one before has been answered, which costs two system calls and a wake-up of either side for each.
 */
export class Exchange implements pg.Submittable {
  readonly #steps: readonly Step[];
  readonly #values: Value[][];
  readonly #client: pg.ClientBase;
  readonly #rows: object[][];
  #callback: Callback | null;
  #at = 0;

  constructor(client: pg.ClientBase, steps: readonly Step[], callback: Callback) {
    this.#client = client;
    this.#steps = steps;
    this.#values = steps.map(({ statement }) => statement.parameters.map((value) => prepareValue(value)));
    this.#rows = steps.map(() => []);
    this.#callback = callback;
  }

  /** One buffer: of many small ones, each is a write that the stream keeps account of. */
  submit(connection: pg.Connection): void {
    const messages = this.#steps.flatMap(({ statement, prepared }, index) => {
      const { name, isSent, readRow } = prepared;
      prepared.isSent = true;
      return [
        ...(isSent ? [] : [serialize.parse({ name, text: statement.sql, types: [] })]),
        serialize.bind({ statement: name, values: this.#values[index] ?? [] }),
        // The rows of what is prepared stay as they were described.
        ...(readRow === undefined ? [serialize.describe({ type: 'P', name: '' })] : []),
        serialize.execute({}),
      ];
    });
    connection.stream.write(Buffer.concat([...messages, serialize.sync()]));
  }

  handleRowDescription({ fields }: { fields: Field[] }): void {
    this.#step.prepared.readRow = rowReader(this.#client, fields);
  }

  handleDataRow({ fields }: { fields: (string | null)[] }): void {
    const { readRow } = this.#step.prepared;
    if (readRow) this.#rows[this.#at]?.push(readRow(fields));
  }

  handleCommandComplete(): void {
    // It has no rows, or the description would have come before.
    this.#step.prepared.readRow ??= null;
    this.#at += 1;
  }

  handleError(error: Error): void {
    this.#end(error);
  }

  handleReadyForQuery(): void {
    this.#end(null);
  }

  get #step(): Step {
    return this.#steps[this.#at] as Step; // the server answers to these and to no others
  }

  #end(error: Error | null): void {
    const callback = this.#callback;
    this.#callback = null;
    callback?.(error, this.#rows);
  }
}

const rowReader = (client: pg.ClientBase, fields: readonly Field[]): ReadRow => {
  const columns = fields.map(({ name, dataTypeID }) => ({
    name,
    // Its type says that there is one of each kind; the texts of columns are what is asked for here.
    parse: client.getTypeParser(dataTypeID, 'text') as (text: string) => unknown,
  }));
  return (texts) => {
    const row: Record<string, unknown> = {};
    for (const [index, { name, parse }] of columns.entries()) {
      const text = texts[index] ?? null;
      row[name] = text === null ? null : parse(text);
    }
    return row;
  };
};
