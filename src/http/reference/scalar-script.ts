import fastify from 'fastify';

const PREFIX = '/scalar';

/**
 * Scalar's browser script, which its plugin for Fastify holds as 4 MB of text. The plugin is loaded for the first person
 * who opens the reference, and asked in a server of its own: its page would say what it may load in no other words than
 * its own.
 */
export const scalarScript = async (): Promise<Buffer> => {
  const { default: scalar } = await import('@scalar/fastify-api-reference');
  const server = fastify();
  try {
    await server.register(scalar, { routePrefix: PREFIX, configuration: { url: '/' } });
    const { rawPayload, statusCode } = await server.inject(`${PREFIX}/js/scalar.js`);
    if (statusCode !== 200) throw new Error(`Scalar answered ${statusCode} for its script.`);
    return rawPayload;
  } finally {
    await server.close();
  }
};
