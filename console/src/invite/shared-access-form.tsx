import { MultiSelect, Select, SimpleGrid, Stack, Switch, Text } from '@mantine/core';
import { useDisclosure } from '@mantine/hooks';
import { useQuery } from '@tanstack/react-query';
import { trpc } from '../api.ts';
import { capitalized } from '../components/capitalized.ts';
import { dateOf } from '../components/date-text.tsx';
import { DisclosureButton } from '../components/disclosure-button.tsx';
import { EndChoice, endOf } from '../components/end-choice.tsx';
import { AttributeFields } from '../data-permissions/attribute-fields.tsx';
import { useDeclared } from '../data-permissions/declared.ts';
import { roleSentence } from '../roles/role-words.ts';
import { CLIENT_ROLES, refusalOf, roleLabel } from '../session/roles.ts';
import { useSession } from '../session/use-session.ts';
import { AppChoice, type AppOption } from './app-choice.tsx';
import type { SharedAccess } from './use-invite-list.ts';

const MAX_GROUPS = 200;

type Props = {
  client: number;
  apps: readonly AppOption[];
  access: SharedAccess;
  onChange: (changes: Partial<SharedAccess>) => void;
};

/** What all who are invited get. */
export const SharedAccessForm = ({ client, apps, access, onChange }: Props) => {
  const own = useSession().roles;
  const roles = CLIENT_ROLES.filter((role) => refusalOf(own, role, client) === null);
  const role = roles.find(({ name }) => name === access.role);
  const [isMore, more] = useDisclosure();
  return (
    <>
      <SimpleGrid cols={{ base: 1, sm: 2 }}>
        <Stack gap={4}>
          <Text size="sm" fw={500} aria-hidden>
            Apps
          </Text>
          <AppChoice
            label="Apps"
            options={apps}
            value={access.apps}
            onChange={(chosen) => onChange({ apps: chosen })}
          />
        </Stack>
        {roles.length > 0 && (
          <Select
            label="Role"
            description={role ? roleSentence(role) : 'Members open their apps.'}
            inputWrapperOrder={['label', 'input', 'description']}
            allowDeselect={false}
            data={[
              { value: '', label: 'Member' },
              ...roles.map((one) => ({ value: one.name, label: capitalized(roleLabel(one)) })),
            ]}
            value={access.role}
            onChange={(name) => onChange({ role: roles.find((one) => one.name === name)?.name ?? '' })}
          />
        )}
      </SimpleGrid>
      <div>
        <DisclosureButton isOpen={isMore} onToggle={more.toggle}>
          {['More options', ...(isMore ? [] : optionTexts(access))].join(' · ')}
        </DisclosureButton>
      </div>
      {isMore && <MoreOptions client={client} access={access} onChange={onChange} />}
    </>
  );
};

/** The options that are set: `2 groups`, `until 3 Dec 2026`. */
export const optionTexts = ({ groups, end, isDemo, extra }: SharedAccess): string[] => {
  const date = endOf(end);
  return [
    ...(groups.length > 0 ? [groups.length === 1 ? '1 group' : `${groups.length} groups`] : []),
    ...(date ? [`until ${dateOf(date)}`] : []),
    ...(extra.trim() === '' ? [] : ['data permissions']),
    ...(isDemo ? ['demo accounts'] : []),
  ];
};

const MoreOptions = ({ client, access, onChange }: Omit<Props, 'apps'>) => {
  const groups = useQuery(trpc.groups.list.queryOptions({ id: client, limit: MAX_GROUPS }));
  const { attributes } = useDeclared(client);
  return (
    <SimpleGrid cols={{ base: 1, sm: 2 }}>
      <MultiSelect
        label="Groups"
        description="They join these groups when they accept."
        inputWrapperOrder={['label', 'input', 'description']}
        placeholder={access.groups.length === 0 ? 'None' : ''}
        searchable
        clearable
        data={(groups.data ?? []).map(({ id, name }) => ({ value: String(id), label: name }))}
        value={access.groups}
        onChange={(chosen) => onChange({ groups: chosen })}
      />
      <div>
        <EndChoice label="Apps until" value={access.end} onChange={(end) => onChange({ end })} />
        <Text size="xs" c="dimmed">
          Apps of groups do not end.
        </Text>
      </div>
      {attributes.length > 0 && (
        <AttributeFields
          attributes={attributes}
          value={access.extra}
          onChange={(extra) => onChange({ extra })}
        />
      )}
      <Switch
        label="Demo accounts"
        description="Apps see that these are demo accounts."
        checked={access.isDemo}
        onChange={({ currentTarget }) => onChange({ isDemo: currentTarget.checked })}
      />
    </SimpleGrid>
  );
};
