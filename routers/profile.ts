import { z } from 'zod';
import { unconfined } from '../src/services/access/actor.ts';
import { routesOf } from './procedure-meta.ts';
import { NewEmail, NoInput, OptionalInput, PersonName, Text } from './schemas/fields.ts';
import { LinkToken, LongIdKey } from './schemas/keys.ts';
import { limitedPagingFields, toPageRequest } from './schemas/lists.ts';
import { PendingEmail, UserOutput, userOutput } from './schemas/users.ts';
import { accountProcedure, publicProcedure, router } from './trpc.ts';
import { LookOutput } from './users-view-as.ts';

const route = routesOf('Profile');

const Color = z
  .string()
  .regex(/^[0-9a-fA-F]{6}$/, 'Must be six hexadecimal digits, such as 1f77b4.')
  .toLowerCase();

const AvatarUrl = Text(2048).check(z.url({ protocol: /^https$/, error: 'Must be an https:// URL.' }));

const EXAMPLE = { token: '7.vGZ2t0y5bJq1xk8' };

export const profileRouter = router({
  update: route(accountProcedure, 'PATCH', '/jb/profile/', {
    summary: 'Change your profile',
    description:
      'Your names, your color and your avatar. Omitted fields stay unchanged; `profile_avatar: null` gives back the avatar with your initial.',
    example: { first_name: 'Augusta', profile_color: '2a9d8f' },
  })
    .input(
      OptionalInput({
        first_name: PersonName.optional(),
        last_name: PersonName.optional(),
        profile_color: Color.optional(),
        profile_avatar: AvatarUrl.nullable().optional(),
      }),
    )
    .output(UserOutput)
    .mutation(({ ctx, input }) => ctx.services.profiles.update(ctx.actor, input).then(userOutput(ctx))),

  requestEmail: route(accountProcedure, 'POST', '/jb/profile/email/', {
    summary: 'Request a change of your email address',
    description:
      'Mails a link to the new address, which takes effect when the link is confirmed. The response does not reveal whether the address has an account. At most five requests an hour.',
    problems: ['reauthentication-required', 'throttled'],
    example: { email: 'ada.king@acme.test' },
  })
    .input(z.object({ email: NewEmail }))
    .output(z.void())
    .mutation(({ ctx, input }) => ctx.services.emailChanges.request(ctx.actor, input.email)),

  pendingEmail: route(accountProcedure, 'GET', '/jb/profile/email/', {
    summary: 'Get the change of your email address that waits for a confirmation',
    description: 'By you or by an admin. `pending` is null if no change waits.',
  })
    .input(NoInput)
    .output(z.object({ pending: PendingEmail.nullable() }))
    .query(async ({ ctx }) => ({ pending: await ctx.services.emailChanges.pending(ctx.actor) })),

  cancelEmail: route(accountProcedure, 'DELETE', '/jb/profile/email/', {
    summary: 'Cancel the change of your email address',
    description:
      'Ends the link that was mailed to the new address, no matter who requested it. Without a change that waits, it changes nothing.',
  })
    .input(NoInput)
    .output(z.void())
    .mutation(({ ctx }) => ctx.services.emailChanges.cancelOwn(ctx.actor)),

  viewedAs: route(accountProcedure, 'GET', '/jb/profile/viewed-as/', {
    summary: 'List who looked at apps as you',
    description:
      'Read-only, with the reason. Newest first. `cursor` is the id of the last look of the previous page.',
  })
    .input(OptionalInput(limitedPagingFields(LongIdKey)))
    .output(z.array(LookOutput))
    .query(({ ctx, input }) => ctx.services.looks.ofPerson(ctx.actor, toPageRequest(ctx, input))),

  /** A POST, because the token must not appear in a URL. */
  verifyEmail: route(publicProcedure, 'POST', '/jb/profile/email/verify/', {
    summary: 'Verify the token of a change of an email address',
    description:
      '`kind` is `confirm` for a link to the new address, `undo` for one to the old address. `new_email` is the address that the account gets; `email` is the present one, or, with `undo`, the old one. `needs_login`: the person requested the change, and must be logged in to confirm it. Does not use up the token.',
    problems: ['invalid-link', 'unauthenticated', 'csrf-failed'],
    example: EXAMPLE,
  })
    .input(z.object({ token: LinkToken, kind: z.enum(['confirm', 'undo']) }))
    .output(z.object({ email: z.string(), new_email: z.string(), needs_login: z.boolean() }))
    .mutation(async ({ ctx, input }) =>
      ctx.services.emailLinks.verify(unconfined(await ctx.findActor()), input.kind, input.token),
    ),

  confirmEmail: route(publicProcedure, 'POST', '/jb/profile/email/confirm/', {
    summary: 'Confirm a new email address',
    description:
      'Needs a login if you requested the change yourself; then the old address gets a link with which it can undo the change for seven days.',
    problems: ['invalid-link', 'login-required', 'user-exists', 'unauthenticated', 'csrf-failed'],
    example: EXAMPLE,
  })
    .input(z.object({ token: LinkToken }))
    .output(z.void())
    .mutation(async ({ ctx, input }) =>
      ctx.services.emailLinks.confirm(unconfined(await ctx.findActor()), input.token),
    ),

  undoEmail: route(publicProcedure, 'POST', '/jb/profile/email/undo/', {
    summary: 'Undo a change of an email address',
    description: 'Ends all sessions, tokens and links of the account.',
    problems: ['invalid-link', 'user-exists'],
    example: EXAMPLE,
  })
    .input(z.object({ token: LinkToken }))
    .output(z.void())
    .mutation(({ ctx, input }) => ctx.services.emailLinks.undo(input.token)),
});
