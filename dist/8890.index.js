import{modules as o}from"./98890.shared.js";import{modules as s}from"./58113.shared.js";const t=8890,d=[8890],m={...o,...s};export{t as id,d as ids,m as modules};
