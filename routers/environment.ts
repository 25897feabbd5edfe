import { z } from 'zod';
import { routesOf } from './procedure-meta.ts';
import { NoInput } from './schemas/fields.ts';
import { router, settingsProcedure } from './trpc.ts';

export const environmentRouter = router({
  read: routesOf('Environment')(settingsProcedure, 'GET', '/jb/env/', {
    summary: 'Get the running environment',
    responseTypes: ['text/json', 'application/json'],
    legacy: true,
  })
    .input(NoInput)
    .output(
      z.object({
        environment: z.string().meta({ examples: ['development'] }),
        upload_bucket_name: z.string().meta({ examples: ['steward-uploads'] }),
      }),
    )
    .query(({ ctx }) => ctx.services.environment.read(ctx.actor)),
});
