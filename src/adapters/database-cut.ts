import type pg from 'pg';

/** Ends a connection whose server no longer answers. `pg` has no word for it but `end`, which would wait for the server. */
export const cutConnection = (client: pg.ClientBase): void => {
  const { connection } = client as unknown as { connection: pg.Connection }; // not in its types
  connection.stream.destroy();
};
