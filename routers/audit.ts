import { z } from 'zod';
import { AuditFilter, AuditView, auditView } from './schemas/audit.ts';
import { toPageRequest } from './schemas/paging.ts';
import { adminProcedure, router } from './trpc.ts';

export const auditRouter = router({
  /** Newest first. */
  list: adminProcedure
    .meta({ openapi: { method: 'GET', path: '/jb/audit/', tags: ['Audit'] }, rest: { extension: true } })
    .input(AuditFilter)
    .output(z.array(AuditView))
    .query(async ({ ctx, input }) => {
      const entries = await ctx.services.auditTrail.list(ctx.actor, input, toPageRequest(ctx, input));
      return entries.map((entry) => auditView(entry, ctx.actor));
    }),
});
