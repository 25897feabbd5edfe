import { Skeleton, Stack, Text } from '@mantine/core';
import { useMutation, useQuery } from '@tanstack/react-query';
import { useMemo, useState } from 'react';
import { steward, trpc } from '../api.ts';
import { Dialog, DialogButtons } from '../components/dialog.tsx';
import { objectFault, objectText, parseObject } from '../components/json-object.ts';
import { ProblemAlert } from '../components/problem-alert.tsx';
import { notify } from '../components/toasts.ts';
import { useAccessRefresh } from '../live/use-access-refresh.ts';
import { AttributeFields, faultsIn } from './attribute-fields.tsx';
import { useDeclared } from './declared.ts';

type Subject = {
  email: string;
  name: string;
  client: number;
  /** The app whose faults are shown at the fields. */
  app?: { id: string } | undefined;
};

type Props = Subject & { onSaved: () => void; onClose: () => void };

/** Changes what all apps of a client get about a person. */
export const PersonDataDialog = ({ clientName, ...props }: Props & { clientName: string }) => (
  <Dialog isOpen onClose={props.onClose} title={`Data permissions of ${props.name} in ${clientName}`}>
    <PersonDataForm {...props} />
  </Dialog>
);

/** The same, within a dialog. */
export const PersonDataForm = (props: Props) => {
  const { email, client, app } = props;
  const memberships = useQuery(trpc.memberships.list.queryOptions({ email }, { staleTime: 0 }));
  const membership = memberships.data?.find((one) => one.client === client);
  const account = useQuery(
    trpc.users.get.queryOptions(
      { email },
      { enabled: memberships.isSuccess && membership === undefined, staleTime: 0 },
    ),
  );
  const given = useQuery(
    trpc.dataPermissions.ofPerson.queryOptions(
      { email, app_id: app?.id ?? '' },
      { enabled: app !== undefined, staleTime: 0 },
    ),
  );
  const declared = useDeclared(client);
  const { extra } = membership ?? account.data ?? {};
  const error = memberships.error ?? account.error;
  if (error) return <ProblemAlert error={error} />;
  if (extra === undefined || declared.isPending || (app && given.isPending)) return <Skeleton height={160} />;
  return (
    <Form
      {...props}
      declared={declared}
      faults={given.data?.faults}
      fix={given.data?.fix}
      extra={extra}
      isMember={membership !== undefined}
    />
  );
};

type FormProps = Props & {
  declared: ReturnType<typeof useDeclared>;
  faults: { key: string; message: string }[] | undefined;
  /** What to change, and where: not all faults are in the values of the person. */
  fix: string | undefined;
  extra: Record<string, unknown>;
  isMember: boolean;
};

const Form = ({ declared, faults, fix, extra, isMember, ...props }: FormProps) => {
  const { email, name, client, onSaved, onClose } = props;
  const [text, setText] = useState(() => objectText(extra));
  const refresh = useAccessRefresh();
  const save = useMutation({
    mutationFn: async (values: Record<string, unknown>): Promise<void> => {
      if (isMember) await steward.api.memberships.update.mutate({ id: client, email, extra: values });
      else await steward.api.users.update.mutate({ email, extra: values });
    },
    onSuccess: async () => {
      await refresh();
      notify(`Saved the data permissions of ${name}.`);
      onSaved();
    },
  });
  const refused = useMemo(() => faultsIn(save.error, 'extra'), [save.error]);
  const isElsewhere = faults?.some(({ key }) => !(key in extra)) === true;
  return (
    <form
      onSubmit={(event) => {
        event.preventDefault();
        if (objectFault(text) === null) save.mutate(parseObject(text));
      }}
    >
      <Stack>
        {isElsewhere && <Text size="sm">{fix}</Text>}
        {!isMember && (
          <Text size="sm">
            {name} does not belong to the client. These values of the account apply in all clients.
          </Text>
        )}
        <AttributeFields
          attributes={declared.attributes}
          label="Data permissions"
          description="What the apps of the client get about this person."
          faults={refused.length > 0 ? refused : faults}
          value={text}
          onChange={setText}
        />
        <ProblemAlert error={save.error} />
        <DialogButtons
          action="Save"
          isPending={save.isPending}
          isDisabled={objectFault(text) !== null}
          onClose={onClose}
        />
      </Stack>
    </form>
  );
};
