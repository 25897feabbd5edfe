import fastify from 'fastify';

/** What an answer of a length costs if nothing has to be found out for it: `/LENGTH` for each of the arguments. */
const server = fastify();
for (const length of process.argv.slice(2).map(Number)) {
  // A JSON text, as bytes: what is measured is sending them.
  const body = Buffer.from(JSON.stringify('x'.repeat(length - 2)));
  server.get(`/${length}`, (_request, reply) => reply.type('application/json; charset=utf-8').send(body));
}
process.send?.(await server.listen({ host: '127.0.0.1', port: 0 }));
// Whoever measures has gone, however they went.
process.once('disconnect', () => process.exit());
