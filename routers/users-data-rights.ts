import { z } from 'zod';
import { Download } from '../src/lib/files.ts';
import { COUNTED } from '../src/services/data-rights/erasures.ts';
import { routesOf } from './procedure-meta.ts';
import { Email } from './schemas/fields.ts';
import { ByEmail, EmailKey } from './schemas/keys.ts';
import { downloadOf } from './schemas/lists.ts';
import { Instant, integers } from './schemas/outputs.ts';
import { accountProcedure, superuserProcedure } from './trpc.ts';

const route = routesOf('Users');

const ErasurePreview = z.object({
  ...integers(COUNTED),
  confirmation: z.string(),
  expires_at: Instant,
});

/** Rows of one part. The type is written out, because the client package contains no types of services. */
type ExportPage = { part: string; items: Record<string, unknown>[] };

/** A name of a file, without characters that are unsafe in file names or in a header. */
const fileNameOf = (email: string): string => `${email.replaceAll(/[^\w.@-]/g, '_').slice(0, 100)}.zip`;

/** Requests that a person may make about their data: an export, and the erasure. */
export const dataRightsProcedures = {
  export: route(accountProcedure, 'GET', '/jb/users/{email}/export/', {
    summary: 'Export everything about a user',
    description:
      'A zip archive with each kind of data as JSON and as CSV: profile, memberships, app grants, invitations, mails, sessions, tokens, saved filters, usage and audit entries. It holds no passwords, tokens or links. Users may export their own data; superusers may export the data of all users. tRPC streams pages of `{part, items}`.',
    problems: ['forbidden', 'reauthentication-required'],
    download: 'application/zip',
  })
    .input(ByEmail)
    .output(downloadOf<ExportPage>())
    .query(async ({ ctx, input: { email } }) => {
      const { pages, archive } = await ctx.services.userExports.open(ctx.actor, email);
      return ctx.isDownload ? new Download(fileNameOf(email), archive()) : pages();
    }),

  previewErasure: route(superuserProcedure, 'GET', '/jb/users/{email}/erasure/', {
    summary: 'Count what the erasure of a user would replace',
    description:
      'Changes nothing. `confirmation` is the code that the erasure asks for: it is valid for ten minutes, for you, and as long as the user does not change.',
    problems: ['self-modification', 'last-superuser', 'reauthentication-required'],
  })
    .input(ByEmail)
    .output(ErasurePreview)
    .query(({ ctx, input }) => ctx.services.erasures.preview(ctx.actor, input.email)),

  erase: route(superuserProcedure, 'POST', '/jb/users/{email}/erasure/', {
    summary: 'Erase a user',
    description:
      'Replaces the user by a pseudonym everywhere: account, invitations, mails, usage and audit trail. It cannot be undone. `confirmation` is the code of the preview, `confirm_email` the email address once more. If `is_finished` is false, the rest is replaced in the background.',
    problems: ['self-modification', 'last-superuser', 'reauthentication-required'],
    handlesIdempotency: true,
  })
    .input(z.object({ email: EmailKey, confirmation: z.string().max(100), confirm_email: Email }))
    .output(
      z.object({
        pseudonym: z.string().meta({ examples: ['erased-6f1f0f5c6d0b4a53@erased.invalid'] }),
        is_finished: z.boolean(),
      }),
    )
    .mutation(({ ctx, input: { email, ...confirmed } }) =>
      ctx.services.erasures.erase(ctx.actor, email, confirmed, ctx.idempotencyKey()),
    ),
};
