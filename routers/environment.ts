import { z } from 'zod';
import { NoInput } from './schemas/fields.ts';
import { adminProcedure, router } from './trpc.ts';

export const environmentRouter = router({
  read: adminProcedure
    .meta({
      openapi: { method: 'GET', path: '/jb/env/', tags: ['Environment'] },
      rest: { responseTypes: ['text/json', 'application/json'] },
    })
    .input(NoInput)
    .output(z.object({ environment: z.string(), upload_bucket_name: z.string() }))
    .query(({ ctx }) => ctx.services.environment.read(ctx.actor)),
});
