import type { ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import type { PoolClient } from 'pg';
import { Output } from './json.ts';
import { eachRow, type Fields, type Statement } from './raw-rows.ts';

const FLUSH_BYTES = 256 * 1024;

/** Sends an array of what a statement finds as it comes; the database waits for a slow reader, without a cursor. */
export const streamRows = async <F extends Fields>(
  client: PoolClient,
  statement: Statement,
  response: ServerResponse,
  json: (fields: F) => string,
): Promise<void> => {
  // `pg` does not declare the socket below its client.
  const { stream } = (client as unknown as { connection: { stream: Socket } }).connection;
  // A reader that hangs up must not keep the rest from being read, or the connection would be lost.
  for (const event of ['drain', 'close']) response.on(event, () => stream.resume());

  let output = new Output();
  let separator = '[';
  const flush = (): void => {
    const full = output;
    output = new Output();
    if (!response.write(full.bytes(), () => full.giveBack()) && !response.destroyed) stream.pause();
  };
  await eachRow<F>(client, statement, [], (fields) => {
    output.add(separator + json(fields));
    separator = ',';
    if (output.length > FLUSH_BYTES) flush();
  });
  output.add(separator === '[' ? '[]' : ']');
  const last = output;
  response.end(last.bytes(), () => last.giveBack());
};
