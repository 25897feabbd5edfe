import { z } from 'zod';
import { Id, Limit, LongIdKey } from './schemas/fields.ts';
import { MailDetailsView, MailStatusFilter, MailView, mailDetailsView, mailView } from './schemas/mail.ts';
import { pageNumberFields, toPageRequest } from './schemas/paging.ts';
import { adminProcedure, router, viewerProcedure } from './trpc.ts';

const rest = { extension: true };
const tags = ['Mails'];
const ById = z.object({ id: LongIdKey });

export const mailRouter = router({
  /** Newest first; `cursor` is the id of the last mail of the previous page. */
  list: viewerProcedure
    .meta({ openapi: { method: 'GET', path: '/jb/mails/', tags }, rest })
    .input(
      z
        .object({
          status: MailStatusFilter,
          client: Id.optional(),
          ...pageNumberFields,
          cursor: LongIdKey.optional(),
          limit: Limit,
        })
        .prefault({}),
    )
    .output(z.array(MailView))
    .query(async ({ ctx, input }) =>
      (await ctx.services.mails.list(ctx.actor, input, toPageRequest(ctx, input))).map(mailView),
    ),

  get: viewerProcedure
    .meta({ openapi: { method: 'GET', path: '/jb/mails/{id}/', tags }, rest })
    .input(ById)
    .output(MailDetailsView)
    .query(async ({ ctx, input }) => mailDetailsView(await ctx.services.mails.get(ctx.actor, input.id))),

  /** Retries a failed or waiting mail now. */
  retry: adminProcedure
    .meta({ openapi: { method: 'POST', path: '/jb/mails/{id}/retry/', tags }, rest })
    .input(ById)
    .output(MailDetailsView)
    .mutation(async ({ ctx, input }) => mailDetailsView(await ctx.services.mails.retry(ctx.actor, input.id))),
});
