import { z } from 'zod';
import { routesOf } from './procedure-meta.ts';
import { PersonName, Text } from './schemas/fields.ts';
import { UserDetailOutput, userOutput } from './schemas/users.ts';
import { protectedProcedure, router } from './trpc.ts';

const route = routesOf('Profile');

const Color = z
  .string()
  .regex(/^[0-9a-fA-F]{6}$/, 'Must be six hexadecimal digits, such as 1f77b4.')
  .toLowerCase();

const AvatarUrl = Text(2048).check(z.url({ protocol: /^https$/, error: 'Must be an https:// URL.' }));

export const profileRouter = router({
  update: route(protectedProcedure, 'PATCH', '/jb/profile/', {
    summary: 'Change your profile',
    description:
      'Your names, your color and your avatar. Omitted fields stay unchanged; `profile_avatar: null` gives back the avatar with your initial.',
    example: { first_name: 'Augusta', profile_color: '2a9d8f' },
  })
    .input(
      z.object({
        first_name: PersonName.optional(),
        last_name: PersonName.optional(),
        profile_color: Color.optional(),
        profile_avatar: AvatarUrl.nullable().optional(),
      }),
    )
    .output(UserDetailOutput)
    .mutation(async ({ ctx, input }) =>
      userOutput(await ctx.services.profiles.update(ctx.actor, input), ctx.baseUrl),
    ),
});
