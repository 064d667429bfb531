# The JSON Schema of manifests: what fairpar takes, editors take, and what is wrong in form they mark.

load helper

# validate FILE …: prints a line for each file that the schema does not allow.
validate() {
	"$FAIRPAR" --schema >schema.json
	python3 - schema.json "$@" <<-'END'
		import json, sys, yaml, jsonschema
		schema = json.load(open(sys.argv[1]))
		jsonschema.Draft7Validator.check_schema(schema)
		validator = jsonschema.Draft7Validator(schema)
		for path in sys.argv[2:]:
		    error = next(iter(validator.iter_errors(yaml.safe_load(open(path, encoding='utf-8')))), None)
		    if error:
		        print(path.rsplit('/', 1)[1], '/'.join(map(str, error.path)), error.message[:200])
	END
}

need_validator() {
	need python3
	python3 -c 'import jsonschema, yaml' 2>/dev/null || skip "python3-jsonschema or python3-yaml is not installed"
}

@test "every good manifest is valid by the schema" {
	need_validator
	output=$(validate "$BATS_TEST_DIRNAME"/manifests/good/*.yaml)
	assert_eq "$output" ""
}

@test "every manifest that is wrong in form is invalid by the schema" {
	need_validator
	local files=("$BATS_TEST_DIRNAME"/manifests/bad/schema-*.yaml)
	output=$(validate "${files[@]}" | cut -d ' ' -f 1)
	assert_eq "$output" "$(printf '%s\n' "${files[@]##*/}")"
}
