# Checks share/grafana/weft.json: what Grafana's importer requires, that panels do not overlap, that every variable is
# defined, and that each metric in an expression is one of those in the given files (answers of /metrics). Prints the
# expressions as a rule file for `promtool check rules`.
# Usage: dashboard.py DASHBOARD RULES METRICS...
import json
import re
import sys

board = json.load(open(sys.argv[1]))
there = set()
for path in sys.argv[3:]:
    there |= set(re.findall(r'^# TYPE (\S+)', open(path).read(), re.M))
problems = []


def check(holds, text):
    if not holds:
        problems.append(text)


check(isinstance(board.get('schemaVersion'), int) and board['schemaVersion'] >= 30, 'schemaVersion')
check(isinstance(board.get('title'), str) and board['title'], 'title')
check(isinstance(board.get('uid'), str) and re.fullmatch(r'[A-Za-z0-9_-]{1,40}', board['uid']), 'uid')
check('id' not in board or board['id'] is None, 'the id of another Grafana')
check(isinstance(board.get('panels'), list) and board['panels'], 'panels')
check(isinstance(board.get('time'), dict) and {'from', 'to'} <= set(board['time']), 'time')

variables = board['templating']['list']
names = [each['name'] for each in variables]
check(len(set(names)) == len(names), 'a variable twice')
sources = {each['name'] for each in variables if each['type'] == 'datasource' and each['query'] == 'prometheus'}
built_in = {'__rate_interval', '__interval', '__range', '__all'}


def check_text(where, text):
    for name in re.findall(r'\$\{?(\w+)', text):
        check(name in names or name in built_in, f'{where}: no variable ${name}')


def check_source(where, source):
    ok = isinstance(source, dict) and source.get('type') == 'prometheus'
    ok = ok and re.fullmatch(r'\$\{(\w+)\}', source.get('uid', '')) and source['uid'][2:-1] in sources
    check(ok, f'{where}: a data source that is not a variable')


ids = [panel.get('id') for panel in board['panels']]
check(all(isinstance(each, int) and each > 0 for each in ids) and len(set(ids)) == len(ids), 'ids of panels')
taken = {}
for panel in board['panels']:
    where = f"panel {panel.get('id')} {panel.get('title')!r}"
    check(panel.get('type') and panel.get('title'), f'{where}: type and title')
    at = panel['gridPos']
    check(0 <= at['x'] and 0 <= at['y'] and at['w'] > 0 and at['h'] > 0 and at['x'] + at['w'] <= 24, f'{where}: gridPos')
    for x in range(at['x'], at['x'] + at['w']):
        for y in range(at['y'], at['y'] + at['h']):
            check(taken.setdefault((x, y), where) == where, f'{where} overlaps {taken[x, y]}')
    if panel['type'] == 'row':
        continue
    check_source(where, panel.get('datasource'))
    references = [target.get('refId') for target in panel.get('targets', [])]
    check(references and len(set(references)) == len(references) and all(references), f'{where}: refId')

expressions = []
for panel in board['panels']:
    for target in panel.get('targets', []):
        where = f"panel {panel['id']} {target['refId']}"
        check_text(where, target['expr'])
        check_text(where, target.get('legendFormat', ''))
        expressions.append((where, target['expr']))
        if 'datasource' in target:
            check_source(where, target['datasource'])
for variable in variables:
    check_text(variable['name'], variable['query'] if isinstance(variable['query'], str) else '')
    if variable['type'] == 'query':
        check_source(f"variable {variable['name']}", variable.get('datasource'))
        asked = re.fullmatch(r'label_values\((.*), \w+\)', variable['query'])
        check(asked, f"variable {variable['name']}: {variable['query']}")
        expressions.append((f"variable {variable['name']}", asked.group(1)))

asked = set()
for where, expression in expressions:
    found = set(re.findall(r'\b((?:node|weft)_\w+)', expression))
    check(found, f'{where}: no metric')
    asked |= found
    for name in found - there:
        problems.append(f'{where}: no metric {name}')

with open(sys.argv[2], 'w') as rules:
    rules.write('groups:\n- name: dashboard\n  rules:\n')
    for number, (where, expression) in enumerate(expressions):
        plain = re.sub(r'\$\{?__(rate_)?interval\}?', '1m', expression)
        plain = re.sub(r'\$\{?\w+\}?', '.*', plain)
        rules.write(f'  - record: dashboard:{number}\n    expr: {json.dumps(plain)}\n')
if problems:
    sys.exit('\n'.join(problems))
print(f'{len(ids)} panels, {len(expressions)} expressions, {len(asked)} metrics')
