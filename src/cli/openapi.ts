import type { Command } from 'commander';
import manifest from '../../package.json' with { type: 'json' };

export const addOpenApiCommand = (program: Command): void => {
  program
    .command('openapi')
    .description('print the OpenAPI document of the REST interface')
    .action(async () => {
      const { openApiDocument } = await import('../http/openapi/document.ts');
      console.log(JSON.stringify(openApiDocument(manifest.version), null, 2));
    });
};
