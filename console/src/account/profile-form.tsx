import { Avatar, Group, Stack, TextInput, Title } from '@mantine/core';
import { useForm } from '@mantine/form';
import { fieldErrors, type User } from '@steward/client';
import { useMutation, useQueryClient } from '@tanstack/react-query';
import { trpc } from '../api.ts';
import { avatarOf, DRAWN_AVATAR } from '../components/avatar-of.ts';
import { FormButtons } from '../components/form-buttons.tsx';
import { changed, joined } from '../components/form-fields.ts';
import { useDraft } from '../components/use-draft.ts';
import { useSession } from '../session/use-session.ts';
import classes from './account.module.css';

/** As the form shows them: a color with `#`, and no URL if the avatar is drawn by the service. */
const valuesOf = ({ first_name, last_name, profile_color, profile_avatar }: User) => ({
  first_name,
  last_name,
  profile_color: `#${profile_color}`,
  profile_avatar: DRAWN_AVATAR.test(profile_avatar) ? '' : profile_avatar,
});

type Values = ReturnType<typeof valuesOf>;

const inputOf = ({ profile_color: color, profile_avatar: avatar, ...names }: Partial<Values>) => ({
  ...names,
  ...(color !== undefined && { profile_color: color.slice(1) }),
  ...(avatar !== undefined && { profile_avatar: avatar.trim() || null }),
});

/** The user's own names, color and avatar. */
export const ProfileForm = () => {
  const { user } = useSession();
  const queryClient = useQueryClient();
  const form = useForm<Values>({ initialValues: valuesOf(user) });
  useDraft('profile', form);
  const update = useMutation(
    trpc.profile.update.mutationOptions({
      onSuccess: (updated) => {
        form.setValues(valuesOf(updated));
        form.resetDirty(valuesOf(updated));
        for (const router of [trpc.sessions.current, trpc.users, trpc.audit])
          void queryClient.invalidateQueries(router.pathFilter());
      },
      onError: (error) => form.setErrors(joined(fieldErrors(error))),
    }),
  );
  const { profile_avatar: avatar, profile_color: color } = form.getValues();
  const isFieldError = Object.keys(fieldErrors(update.error)).length > 0;
  const discard = (): void => {
    form.setValues(valuesOf(user));
    form.resetDirty(valuesOf(user));
  };
  return (
    <form
      className="card"
      aria-labelledby="profile"
      onSubmit={form.onSubmit((values) => update.mutate(inputOf(changed(values, form.getInitialValues()))))}
    >
      <Stack maw="30rem">
        <Title order={2} size="h3" id="profile">
          Profile
        </Title>
        <Group grow align="flex-start">
          <TextInput
            label="First name"
            autoComplete="given-name"
            required={user.first_name !== ''}
            pattern=".*\S.*"
            {...form.getInputProps('first_name')}
          />
          <TextInput label="Last name" autoComplete="family-name" {...form.getInputProps('last_name')} />
        </Group>
        <TextInput
          type="url"
          label="Picture"
          description="The https address of an image. Leave empty to show the first letter of your name."
          {...form.getInputProps('profile_avatar')}
        />
        <Group wrap="nowrap" align="flex-end">
          <TextInput
            type="color"
            label="Color"
            description="Apps may show it next to your name."
            classNames={{ input: classes.color ?? '' }}
            {...form.getInputProps('profile_color')}
          />
          <Avatar
            src={avatar.startsWith('https://') ? avatar : avatarOf(user)}
            alt=""
            size={56}
            className={classes.avatar ?? ''}
            style={{ borderColor: color }}
          />
        </Group>
        <FormButtons
          isDirty={form.isDirty()}
          isSaving={update.isPending}
          isSaved={update.isSuccess}
          problem={isFieldError ? null : update.error}
          onDiscard={discard}
        />
      </Stack>
    </form>
  );
};
