import { z } from 'zod';
import { EXTENSION, routesOf } from './procedure-meta.ts';
import { OperationKey, UndoOutput } from './schemas/bulk.ts';
import { adminProcedure, router } from './trpc.ts';

const route = routesOf('Users');

export const operationsRouter = router({
  /** Undoes what the caller changed with a bulk update or in the access matrix. */
  undo: adminProcedure
    .meta(route('POST', '/jb/operations/{id}/undo/', { handlesIdempotency: true, ...EXTENSION }))
    .input(z.object({ id: OperationKey }))
    .output(UndoOutput)
    .mutation(({ ctx, input }) => {
      ctx.timeLimit.lift();
      return ctx.services.operations.undo(ctx.actor, input.id, ctx.idempotencyKey());
    }),
});
