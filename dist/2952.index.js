import{modules as o}from"./22952.shared.js";import{modules as s}from"./84554.shared.js";const t=2952,d=[2952],m={...o,...s};export{t as id,d as ids,m as modules};
