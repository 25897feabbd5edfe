import { randomUUID } from 'node:crypto';
import fastify from 'fastify';
import pg from 'pg';
import { runPeer } from '../../processes.ts';
import { createQuery } from './query.ts';
import { serveReads } from './reads.ts';
import { serveWrites } from './writes.ts';

const MAX_BODY_BYTES = 16 * 1024 * 1024;
const POOL_SIZE = 8;
/** The data fits in memory and there are two cores: JIT compilation and parallel workers do not pay off. */
const SESSION = '-c jit=off -c random_page_cost=1.1 -c max_parallel_workers_per_gather=0 -c TimeZone=UTC';

/**
 * The cost of equal responses without an application: Fastify, `pg`, handwritten prepared statements, and JSON put together from
 * the texts of the columns. It checks tokens, and little else.
 */
runPeer(async ({ connection, baseUrl }) => {
  const query = createQuery(new pg.Pool({ ...connection, max: POOL_SIZE, options: SESSION }));
  const app = fastify({ bodyLimit: MAX_BODY_BYTES, genReqId: () => randomUUID() });
  // Kept as a string: bulk invitations pass it to PostgreSQL unparsed.
  app.removeContentTypeParser('application/json');
  app.addContentTypeParser(
    'application/json',
    { parseAs: 'string' },
    async (_request: unknown, body: string) => body,
  );
  serveReads(app, query, baseUrl);
  serveWrites(app, query, baseUrl);
  return app.listen({ host: '127.0.0.1', port: 0 });
});
