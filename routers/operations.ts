import { z } from 'zod';
import { routesOf } from './procedure-meta.ts';
import { OperationKey, UndoOutput } from './schemas/bulk.ts';
import { adminProcedure, router } from './trpc.ts';

const route = routesOf('Users');

export const operationsRouter = router({
  undo: adminProcedure
    .meta(
      route('POST', '/jb/operations/{id}/undo/', {
        summary: 'Undo a change of many users',
        description:
          'Your own bulk update or change of the access matrix, within ten minutes. Reverts what is still as the operation left it; the rest is in `skipped`. Each request reverts the changes of up to 1,000 users and reports those of all requests so far: repeat it until `is_finished` is true, or if it was interrupted. Reactivated users must log in again.',
        problems: ['undo-expired'],
        handlesIdempotency: true,
        extension: true,
      }),
    )
    .input(z.object({ id: OperationKey }))
    .output(UndoOutput)
    .mutation(({ ctx, input }) => {
      ctx.timeLimit.lift();
      return ctx.services.operations.undo(ctx.actor, input.id, ctx.idempotencyKey());
    }),
});
