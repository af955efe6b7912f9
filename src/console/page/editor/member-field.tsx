/** The field of a member of a search that is edited as text. */

import { TextField, type TextProps } from '../controls.tsx';
import { useWords } from '../words/language.ts';
import type { ChangeDraft, Draft } from './draft.ts';
import { memberName } from './member-text.ts';
import type { Violations } from './violations.ts';

export interface FieldsProps {
  readonly draft: Draft;
  readonly change: ChangeDraft;
  readonly violations: Violations;
}

export interface OfAlternative {
  /** True to leave out the criteria that only the search can have. */
  readonly isAlternative: boolean;
}

type TextMember = { [Member in keyof Draft]: Draft[Member] extends string ? Member : never }[keyof Draft];

interface MemberFieldProps extends FieldsProps, Partial<TextProps> {
  readonly member: TextMember;
}

export function MemberField({ draft, change, violations, member, ...field }: MemberFieldProps) {
  const words = useWords();
  return (
    <TextField
      label={memberName(member, words)}
      violation={violations.of(member)}
      name={member}
      value={draft[member]}
      onText={(text) => change({ [member]: text })}
      {...field}
    />
  );
}
