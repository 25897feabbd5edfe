import { z } from 'zod';
import { Download } from '../src/lib/download.ts';
import { COUNTED } from '../src/services/data-rights/erasures.ts';
import { EXTENSION, routesOf } from './procedure-meta.ts';
import { Email, EmailKey, Instant } from './schemas/fields.ts';
import { protectedProcedure, superuserProcedure } from './trpc.ts';

const route = routesOf('Users');

const ErasurePreview = z.object({
  ...(Object.fromEntries(COUNTED.map((name) => [name, z.int()])) as Record<
    (typeof COUNTED)[number],
    z.ZodInt
  >), // the keys are those of the list
  confirmation: z.string(),
  expires_at: Instant,
});

/** Pages of rows, each of one part; a file for REST. The type is written out, because the client's types have none of services. */
const ExportOutput = z
  .custom<AsyncIterable<{ part: string; items: Record<string, unknown>[] }> | Download>()
  // Only REST sets `isDownload` and gets a file.
  .transform((pages) => pages as AsyncIterable<{ part: string; items: Record<string, unknown>[] }>);

/** The name of a file, without characters that are unsafe in one or in a header. */
const fileNameOf = (email: string): string => `${email.replaceAll(/[^\w.@-]/g, '_').slice(0, 100)}.zip`;

/** What a person may ask for: their data, and their erasure. */
export const dataRightsProcedures = {
  /** Everything about a person. Users may export their own data, superusers that of all. */
  export: protectedProcedure
    .meta(route('GET', '/jb/users/{email}/export/', { download: 'application/zip', ...EXTENSION }))
    .input(z.object({ email: EmailKey }))
    .output(ExportOutput)
    .query(async ({ ctx, input: { email } }) => {
      const { pages, archive } = await ctx.services.userExports.open(ctx.actor, email);
      return ctx.isDownload ? new Download(fileNameOf(email), archive()) : pages();
    }),

  /** Counts what would be erased, and issues the code that `erase` asks for. */
  previewErasure: superuserProcedure
    .meta(route('GET', '/jb/users/{email}/erasure/', EXTENSION))
    .input(z.object({ email: EmailKey }))
    .output(ErasurePreview)
    .query(({ ctx, input }) => ctx.services.erasures.preview(ctx.actor, input.email)),

  /** Replaces a person by a pseudonym everywhere. Cannot be undone. */
  erase: superuserProcedure
    .meta(route('POST', '/jb/users/{email}/erasure/', { handlesIdempotency: true, ...EXTENSION }))
    .input(z.object({ email: EmailKey, confirmation: z.string().max(100), confirm_email: Email }))
    .output(z.object({ pseudonym: z.string(), is_finished: z.boolean() }))
    .mutation(({ ctx, input: { email, ...confirmed } }) =>
      ctx.services.erasures.erase(ctx.actor, email, confirmed, ctx.idempotencyKey()),
    ),
};
