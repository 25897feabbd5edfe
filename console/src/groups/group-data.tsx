import { NumberInput, Stack, Title } from '@mantine/core';
import { useForm } from '@mantine/form';
import { fieldErrors } from '@steward/client';
import { useMutation } from '@tanstack/react-query';
import { useEffect, useMemo } from 'react';
import { type Outputs, trpc } from '../api.ts';
import { useAppLabels } from '../components/changes.tsx';
import { FactList } from '../components/fact-list.tsx';
import { FormButtons } from '../components/form-buttons.tsx';
import { changed, joined } from '../components/form-fields.ts';
import { objectFault, objectText, parseObject } from '../components/json-object.ts';
import { useUnsavedWork } from '../components/unsaved-work.ts';
import { AppRoleChips } from '../data-permissions/app-role-chips.tsx';
import { AttributeFields, faultsIn } from '../data-permissions/attribute-fields.tsx';
import { type Declared, useDeclared } from '../data-permissions/declared.ts';
import { useAccessRefresh } from '../live/use-access-refresh.ts';

type GroupScreenData = Outputs['groups']['screen'];
type Props = { group: GroupScreenData; isReadOnly: boolean };

/** What a group gives its members in its apps. Nothing if the client and its apps declare nothing, and the group has no values. */
export const GroupData = ({ group, isReadOnly }: Props) => {
  const declared = useDeclared(group.client);
  const hasRoles = group.apps.some((id) => declared.roles.has(id));
  const isEmpty = declared.attributes.length === 0 && !hasRoles && group.attributes === null;
  if (declared.isPending || isEmpty) return null;
  return <Form group={group} isReadOnly={isReadOnly} declared={declared} />;
};

const valuesOf = ({ attributes, rank, app_roles }: GroupScreenData) => ({
  attributes: objectText(attributes ?? {}),
  rank,
  app_roles,
});

const Form = ({ group, isReadOnly, declared }: Props & { declared: Declared }) => {
  const refresh = useAccessRefresh();
  const appLabels = useAppLabels();
  const form = useForm({ initialValues: valuesOf(group), validate: { attributes: objectFault } });
  useUnsavedWork(form.isDirty());
  // biome-ignore lint/correctness/useExhaustiveDependencies: only a new record is a reason, not a change of the form
  useEffect(() => {
    if (form.isDirty()) return;
    form.setInitialValues(valuesOf(group));
    form.setValues(valuesOf(group));
  }, [group]);
  const update = useMutation(
    trpc.groups.edit.mutationOptions({
      onSuccess: () => {
        form.resetDirty();
        void refresh();
      },
    }),
  );
  const faults = useMemo(() => faultsIn(update.error, 'attributes'), [update.error]);
  const errors = joined(fieldErrors(update.error));
  const { attributes, rank, app_roles: roles } = form.values;
  const save = (values: typeof form.values): void => {
    const { attributes: text, ...others } = changed(values, valuesOf(group));
    const given = text === undefined ? {} : { attributes: text.trim() === '' ? null : parseObject(text) };
    update.mutate({ id: group.client, group_id: group.id, ...others, ...given });
  };
  return (
    <form className="card" aria-labelledby="data-of-group" onSubmit={form.onSubmit(save)}>
      <Stack>
        <Title order={2} size="h3" id="data-of-group">
          What members get in apps
        </Title>
        <AttributeFields
          attributes={declared.attributes}
          description="Lists from several groups are combined. Values of the person or the grant replace them."
          isReadOnly={isReadOnly}
          faults={faults}
          error={form.errors.attributes}
          value={attributes}
          onChange={(text) => form.setFieldValue('attributes', text)}
        />
        {isReadOnly ? (
          <FactList
            facts={[
              ['Rank', rank],
              ...Object.entries(roles)
                .filter(([, keys]) => keys.length > 0)
                .map(([id, keys]): [string, string] => [
                  `Roles in ${appLabels.get(id) ?? id}`,
                  keys.join(', '),
                ]),
            ]}
          />
        ) : (
          <>
            {group.apps.map((id) => {
              const declaredRoles = declared.roles.get(id);
              return (
                declaredRoles && (
                  <AppRoleChips
                    key={id}
                    label={`Roles in ${appLabels.get(id) ?? id}`}
                    roles={declaredRoles}
                    value={roles[id] ?? []}
                    error={errors.app_roles}
                    onChange={(keys) => form.setFieldValue('app_roles', { ...roles, [id]: keys })}
                  />
                )
              );
            })}
            <NumberInput
              label="Rank"
              description="If several groups of a person set a single value, the group with the lowest rank wins."
              min={0}
              max={10_000}
              allowDecimal={false}
              value={rank}
              onChange={(value) => form.setFieldValue('rank', Number(value))}
              error={errors.rank}
            />
            <FormButtons
              isDirty={form.isDirty()}
              isSaving={update.isPending}
              isSaved={update.isSuccess}
              problem={Object.keys(errors).length > 0 ? null : update.error}
              onDiscard={form.reset}
            />
          </>
        )}
      </Stack>
    </form>
  );
};
