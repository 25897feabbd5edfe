import { z } from 'zod';
import { COUNTED } from '../src/services/data-rights/erasures.ts';
import { EXTENSION, routesOf } from './procedure-meta.ts';
import { Email, EmailKey, Instant } from './schemas/fields.ts';
import { superuserProcedure } from './trpc.ts';

const route = routesOf('Users');

const ErasurePreview = z.object({
  ...(Object.fromEntries(COUNTED.map((name) => [name, z.int()])) as Record<
    (typeof COUNTED)[number],
    z.ZodInt
  >), // the keys are those of the list
  confirmation: z.string(),
  expires_at: Instant,
});

/** What a person may ask for: their data, and their erasure. */
export const dataRightsProcedures = {
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
